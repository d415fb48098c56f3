import { type Clock } from '../../resilience/clock.js';
import { type UpstreamEndpoint } from './endpoint.js';

export interface SessionPoolOptions {
  readonly source: string;
  readonly endpoint: UpstreamEndpoint;
  readonly clock: Clock;
  /** Sessions open at a time. */
  readonly maxSessions: number;
  /** How long a session that nobody uses is kept. Milliseconds. */
  readonly idleMs: number;
  /** Longest time for opening one. Milliseconds. */
  readonly openMs: number;
  /** How long a list of tools that was read is believed. Milliseconds. */
  readonly verifyMs: number;
}
