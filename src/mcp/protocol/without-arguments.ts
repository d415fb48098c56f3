import { isRecord } from '../json-schema.js';
import type { Kept } from './handlers.js';

/** Arguments are kept away from the SDK; see `ProtocolEngine`. */
export function withoutArguments<M extends { method: string; params?: unknown }>(
  message: M,
): { message: M; kept: Kept } {
  const { params } = message;
  if (!isRecord(params) || !('arguments' in params)) return { message, kept: { arguments: undefined } };
  const { arguments: sent, ...rest } = params;
  return { message: { ...message, params: rest }, kept: { arguments: sent } };
}
