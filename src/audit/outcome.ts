import type { McpCall } from '../mcp/call.js';
import { CallCut } from '../mcp/cancellation.js';
import { CallError } from '../mcp/errors.js';
import type { CallEnding } from '../mcp/observation.js';
import { UNKNOWN } from '../mcp/unknown-entry.js';

export type Outcome = CallEnding;
export type AuditResult = Outcome['result'];

/** Codes look like this; whatever does not is a text, and a text can hold an identifier (defect A1). */
const CODE = /^[a-z_]{1,40}$/;
const INTERNAL_ERROR = 'internal_error';

/** A code as it may be recorded: `internal_error` for anything that does not look like one. */
export function recordableCode(code: string): string {
  return CODE.test(code) ? code : INTERNAL_ERROR;
}

/** The outcome of a call whose method gave `value`. Nobody received the value when the caller had gone before. */
export function outcomeOfValue(call: McpCall, value: unknown): Outcome {
  return call.signal.aborted ? cancelled(call.signal) : { result: call.judged ?? call.entry.outcome(value) };
}

/** The outcome of a call that ended with `error`. A refusal stays a refusal, also when the caller left meanwhile. */
export function outcomeOfError(call: McpCall, error: unknown): Outcome {
  const denied = error instanceof CallError && error.result === 'denied';
  if (call.signal.aborted && !denied) return cancelled(call.signal);
  if (!(error instanceof CallError)) return { result: 'failure', reason: INTERNAL_ERROR };
  const reason = recordableCode(error.code);
  if (denied) return { result: 'denied', reason };
  if (reason === 'cancelled' || reason === 'shutdown') return { result: 'cancelled', reason };
  // The name of an unknown entry is an outsider's text; its record is always the same.
  return { result: 'failure', reason: call.name === UNKNOWN ? 'not_found' : reason };
}

function cancelled(signal: AbortSignal): Outcome {
  const why: unknown = signal.reason;
  return { result: 'cancelled', reason: why instanceof CallCut ? why.code : 'cancelled' };
}
