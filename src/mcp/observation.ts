import type { CurrentSpan } from '../logging/call-context.js';

/** How a call ended, as the audit records it: codes only. */
export interface CallEnding {
  readonly result: 'success' | 'partial' | 'failure' | 'denied' | 'cancelled';
  /** A stable code; none when nothing went wrong. */
  readonly reason?: string;
}

/** A span of the caller's, checked: nothing but hexadecimal digits, lower case. */
export interface ParentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
}

/** The span of one call. */
export interface CallSpan {
  /** Of the caller's trace, or of a new one. */
  readonly traceId: string;
  /** What is current while the call runs. */
  readonly current: CurrentSpan;
  /** Ends it, once; without an ending when the call was never accepted. */
  end(ending?: CallEnding): void;
}
