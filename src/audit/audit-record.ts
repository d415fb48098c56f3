import type { CallKind, McpCall } from '../mcp/call.js';
import { recordableClient } from './client-name.js';
import { recordableCode, type Outcome } from './outcome.js';
import type { Pseudonyms } from './pseudonym.js';

/** Names of the two records of a call, and of the field with the entry's name (architecture §7). */
export const RECORDS = {
  tool: { started: 'tool_invocation_started', completed: 'tool_invocation_completed', field: 'tool' },
  resource: { started: 'resource_read_started', completed: 'resource_read_completed', field: 'resource' },
  prompt: { started: 'prompt_rendered_started', completed: 'prompt_rendered_completed', field: 'prompt' },
} as const satisfies Record<CallKind, { started: string; completed: string; field: string }>;

/** Fields of the envelope and of the records; a note of the same name gets a prefix, it neither replaces nor vanishes. */
const TAKEN = new Set([
  ...['timestamp', 'level', 'logger', 'message', 'service', 'version', 'environment', 'correlation_id', 'trace_id'],
  ...['tool', 'resource', 'prompt', 'identifier', 'key_id', 'identifier_previous', 'key_id_previous', 'client'],
  ...['replica', 'duration_ms', 'result', 'reason', 'sources', 'parts'],
]);
/** Governance writes its facts itself, but no fact of a policy file makes a record unbounded. */
const MAX_NOTE_CHARACTERS = 256;

/**
 * Members of a JSON object, without its braces. The records are written as text: what both have in common is made once
 * per call (measured: half the CPU of two objects that pass through the log's redaction, which has nothing to do here —
 * every value is a code, a name of ours, a pseudonym or a checked client name).
 */
export type Members = string;

/** What both records of a call have in common. `correlation_id` and `trace_id` are in the envelope of the line. */
export function subjectMembers(call: McpCall, pseudonyms: Pseudonyms, replica: string): Members {
  return members({
    [RECORDS[call.kind].field]: call.name,
    ...pseudonyms.fields(canonicalSubject(call)),
    client: recordableClient(call.caller.client),
    replica,
  });
}

export function completedMembers(call: McpCall, subject: Members, outcome: Outcome, durationMs: number): Members {
  const { sources, parts, notes } = call.journal;
  let text = `${subject},"duration_ms":${Math.round(durationMs * 10) / 10},"result":"${outcome.result}"`;
  if (outcome.reason !== undefined) text += `,"reason":"${outcome.reason}"`;
  text += `,"sources":${JSON.stringify(sources)}`;
  const codes = Object.entries(parts);
  if (codes.length > 0) {
    const recordable = codes.map(([name, code]): [string, string] => [name, recordableCode(code)]);
    text += `,"parts":${JSON.stringify(Object.fromEntries(recordable))}`;
  }
  for (const name in notes) {
    const note = notes[name];
    const value = typeof note === 'string' ? note.slice(0, MAX_NOTE_CHARACTERS) : note;
    text += `,${members({ [TAKEN.has(name) ? `note_${name}` : name]: value })}`;
  }
  return text;
}

export function members(fields: Readonly<Record<string, unknown>>): Members {
  return JSON.stringify(fields).slice(1, -1);
}

/**
 * Null when the identifier cannot be parsed. The error is not lost: the call goes on, and whoever parses the identifier
 * next meets the same error, which then ends the call and becomes its reason.
 */
function canonicalSubject(call: McpCall): string | null {
  try {
    return call.subject();
  } catch {
    return null;
  }
}
