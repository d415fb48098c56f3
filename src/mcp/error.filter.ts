import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { EventLog } from '../logging/event-log.js';
import type { CallKind, McpCall } from './call.js';
import { CallCut, isCut } from './cancellation.js';
import { CallError, INVALID_PARAMS } from './errors.js';
import { INTERNAL_ERROR, RpcFailure, toolError, UnknownEntryFailure, type Result } from './results.js';

const STOPPING = 'El servidor se está deteniendo. Intenta de nuevo en unos segundos.';
const CANCELLED = 'La llamada fue cancelada.';

/** Codes of a CallError that say that the request was wrong; all others say that we could not serve it. */
const WRONG_REQUEST = /^(?:invalid_|not_found$)/;

const MASKED: Readonly<Record<CallKind, (name: string) => string>> = {
  tool: (name) => `Error calling tool '${name}'`,
  resource: (name) => `Error reading resource '${name}'`,
  prompt: (name) => `Error rendering prompt '${name}'`,
};

/**
 * Outermost of every call: what was thrown becomes what the caller may read. A CallError is shown; everything else is
 * logged with its cause and masked. Returns a tool's error result, or throws the RpcFailure of the other kinds and the
 * UnknownEntryFailure of a name that does not exist for the caller.
 */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(private readonly log: EventLog) {}

  catch(thrown: unknown, host: ArgumentsHost): Result {
    const call = host.getArgByIndex<McpCall>(0);
    const error = thrown instanceof CallError ? thrown : this.translate(thrown, call);
    if (error.asUnknown) throw new UnknownEntryFailure();
    const { code, message, data, jsonRpcCode } = error;
    if (call.kind === 'tool' && jsonRpcCode === undefined) return toolError(message, code, data);
    const fallback = WRONG_REQUEST.test(code) ? INVALID_PARAMS : INTERNAL_ERROR;
    throw new RpcFailure(jsonRpcCode ?? fallback, message, { ...data, code });
  }

  private translate(thrown: unknown, call: McpCall): CallError {
    if (isCut(thrown, call.signal)) {
      const shutdown = call.signal.reason instanceof CallCut && call.signal.reason.code === 'shutdown';
      return shutdown ? new CallError('shutdown', STOPPING) : new CallError('cancelled', CANCELLED);
    }
    // No argument and no text of the outsider: the name is the catalogue's, or `unknown`.
    this.log.error('unexpected_error', { kind: call.kind, name: call.name }, thrown);
    return new CallError('internal_error', MASKED[call.kind](call.name));
  }
}
