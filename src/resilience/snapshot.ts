import type { LastError } from './last-error.js';
import type { CircuitStateName } from './observer.js';

/** What /diagnostics shows of one source (architecture §9, spec §2.3), but for `healthy` and `pool`. Instants are ISO 8601, UTC. */
export interface ExecutorSnapshot {
  readonly source: string;
  readonly circuit_state: CircuitStateName;
  /** Slots held, settling ones and a background probe's included. */
  readonly in_flight: number;
  /** Calls that wait for a token or a slot. */
  readonly queued: number;
  /** Slots whose caller has been answered and whose resource is not back. */
  readonly settling: number;
  readonly max_concurrency: number;
  /** When the circuit last opened; null once it has closed. */
  readonly opened_at: string | null;
  readonly next_probe_at: string | null;
  readonly last_error: LastError | null;
  readonly rate_limit: RateLimitSnapshot | null;
}

export interface RateLimitSnapshot {
  readonly per_second: number | null;
  readonly burst: number | null;
  readonly available: number;
  readonly paused_until: string | null;
}
