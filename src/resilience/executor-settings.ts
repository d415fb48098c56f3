/**
 * What one executor is told about its source. The source's name is `connector.name`. Times are milliseconds, counts are
 * per replica (spec §1.2, §3; architecture §3 for the defaults and bounds, which live in the settings classes).
 */
export interface ExecutorSettings {
  /** Simultaneous operations; the bulkhead's slots. At least 1. */
  readonly maxConcurrency: number;
  /** Calls that may wait for a slot; the next one is refused at once as saturated. 0 = nobody waits. */
  readonly maxQueue: number;
  /** Longest wait for a token and a slot together. */
  readonly acquireTimeoutMs: number;
  /** Longest time between the slot and the answer; connecting is inside it. */
  readonly operationTimeoutMs: number;
  /** Longest time between `run` and the answer, whatever it waits for. */
  readonly callDeadlineMs: number;
  /** Time between the polite `signal` and `kill` (law 4). */
  readonly cancelGraceMs: number;
  /** Consecutive infrastructure failures that open the circuit. */
  readonly failureThreshold: number;
  /** Time a circuit stays open before a probe may be tried. */
  readonly resetTimeoutMs: number;
  /** Consecutive successes in half-open that close the circuit. */
  readonly successThreshold: number;
  /** Tokens that come back each second; `undefined` = no rate limit (a pause asked for by a 429 still holds). */
  readonly rateLimitPerSecond: number | undefined;
  /** Tokens that a quiet source saves up. At least 1. Unused without `rateLimitPerSecond`. */
  readonly rateLimitBurst: number;
}
