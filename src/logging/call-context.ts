import { AsyncLocalStorage } from 'node:async_hooks';

/** What every log line written inside a call carries. Holds nothing of the caller: no credential, no identifier. */
export interface CallContext {
  /** 32 hex digits, new for each call; never taken from the request. */
  readonly correlationId: string;
  readonly traceId?: string;
}

export const callContext = new AsyncLocalStorage<CallContext>();
