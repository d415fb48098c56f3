import { ProtocolError } from '@modelcontextprotocol/server';
import type { EventLog } from '../../logging/event-log.js';
import type { CallKind } from '../call.js';
import { CallError, INVALID_PARAMS } from '../errors.js';
import { INTERNAL_ERROR, type RpcFailure } from '../results.js';

/** UTF-16 units of an unknown name that are repeated to who sent it; more than a valid name can have. */
const LONGEST_ECHO = 128;

/** Only here, and only to its sender, is an unknown name repeated. */
export function unknownError(kind: CallKind, name: string): ProtocolError {
  const text = `Unknown ${kind}: '${name.slice(0, LONGEST_ECHO)}'`;
  return new ProtocolError(INVALID_PARAMS, text, kind === 'resource' ? { uri: name } : undefined);
}

export function protocolError(
  { code, message, data }: RpcFailure,
  more?: Readonly<Record<string, unknown>>,
): ProtocolError {
  return new ProtocolError(code, message, more === undefined ? data : { ...data, ...more });
}

/** A step threw something that even the error filter did not see. The SDK would send its text as it is. */
export function masked(error: unknown, log: EventLog): ProtocolError {
  log.error('unexpected_error', {}, error);
  return new ProtocolError(INTERNAL_ERROR, 'Internal error');
}

export async function asProtocolError<T>(list: () => Promise<T>): Promise<T> {
  try {
    return await list();
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    const { code, message, data, jsonRpcCode } = error;
    throw new ProtocolError(jsonRpcCode ?? INTERNAL_ERROR, message, { ...data, code });
  }
}
