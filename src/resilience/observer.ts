import type { ConnectorErrorCode } from './errors.js';

export type CircuitStateName = 'closed' | 'open' | 'half_open';

/** Codes of the refusals: the operation was never begun. */
export type RefusalCode = Extract<ConnectorErrorCode, 'circuit_open' | 'saturated' | 'rate_limited' | 'unavailable'>;

/**
 * How a call that had begun ended for its caller. `cancelled`: the caller left. `bug`: a programming error of ours. The
 * rest are the codes of the errors (law 8).
 */
export type CallOutcome =
  | 'success'
  | 'cancelled'
  | 'bug'
  | Extract<ConnectorErrorCode, 'timeout' | 'unavailable' | 'rejected' | 'rate_limited'>;

/** What a background probe learnt (law 7). `skipped`: no slot was free, or a user's call was the probe. */
export type ProbeOutcome = 'success' | 'failure' | 'skipped';

/**
 * One run as a tracer follows it: it waits, it connects, it operates. Called in this order; steps may be left out, and
 * `ended` comes once, with the answer of the caller: the resource may be settling still.
 */
export interface RunTrace {
  /** The call waits for a token or a slot. */
  queued(): void;
  /** The slot is in hand: the connector is asked for its resource. */
  connecting(): void;
  /** The resource is in hand. Gives what `operation` gives; what leaves the process meanwhile belongs to this step. */
  operating<T>(operation: () => T): T;
  ended(outcome: CallOutcome | RefusalCode | 'abandoned'): void;
}

/**
 * What metrics and traces may see of an executor. Every callback is optional and costs one property read when absent.
 * Times are seconds. Callbacks run inside the hot path and must return at once; one that throws breaks the call.
 * Called in the caller's async context, so that a tracer finds its current span.
 */
export interface ExecutorObserver {
  /** A run begins. Undefined: nobody follows this one. */
  began?(source: string): RunTrace | undefined;
  /** A call began to wait for a token or a slot. */
  queued?(source: string): void;
  /** The operation begins: `waitSeconds` were spent between `run` and the slot. */
  started?(source: string, waitSeconds: number): void;
  /** A call that had begun answered its caller, `durationSeconds` after `started`. Its slot may still be settling. */
  settled?(source: string, outcome: CallOutcome, durationSeconds: number, waitSeconds: number): void;
  /** A call ended before it began, because of us. */
  refused?(source: string, code: RefusalCode, waitSeconds: number): void;
  /** A call ended before it began, because its caller left. */
  abandoned?(source: string, waitSeconds: number): void;
  stateChanged?(source: string, from: CircuitStateName, to: CircuitStateName): void;
  /** Number of slots whose caller was answered and whose resource is not back yet. */
  settlingChanged?(source: string, settling: number): void;
  /** The resource of a call was destroyed, because it ignored the polite signal for the whole grace. */
  killed?(source: string): void;
  probed?(source: string, outcome: ProbeOutcome): void;
}
