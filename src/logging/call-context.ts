import { AsyncLocalStorage } from 'node:async_hooks';

/** What every log line written inside a call carries. Holds nothing of the caller: no credential, no identifier. */
export interface CallContext {
  /** 32 hex digits, new for each call; never taken from the request. */
  readonly correlationId: string;
  readonly traceId?: string;
  /** The span that is current, when calls are traced. */
  readonly span?: CurrentSpan;
}

/** What the way out needs of a trace: nothing but hexadecimal ids. */
export interface CurrentSpan {
  /** W3C Trace Context, for what leaves the process. */
  readonly traceparent: string;
  /** A connection is being opened inside of this span; call what it gives when it is open or has failed. */
  connecting(): (failure?: string) => void;
}

export const callContext = new AsyncLocalStorage<CallContext>();
