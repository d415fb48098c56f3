import type { Failure } from './connector.js';
import { type ConnectorError, RateLimitedError, RejectedError, SourceUnavailableError } from './errors.js';
import type { FailureCause } from './breaker.js';
import type { CallOutcome } from './observer.js';

/**
 * Laws 6 and 8: what an error means for the breaker, for the rate limiter, for the log and for the caller. Nothing of the
 * cause is in the caller's error, but for a bug: that one is ours, and is masked at the edge.
 */
export interface Verdict {
  readonly breaker: FailureCause | 'success' | 'rejected' | 'nothing';
  readonly answer: unknown;
  readonly outcome: CallOutcome;
  /** The event to log, with the cause. */
  readonly event?: string;
  /** How long the source's token bucket pauses. */
  readonly pauseMs?: number;
}

/** Architecture §5: `Retry-After`, default 1 s, at most 30 s. */
const DEFAULT_PAUSE_SECONDS = 1;
const LONGEST_PAUSE_SECONDS = 30;

/** @param connected false while the connector had not yet begun the operation: still connecting. */
export function judge(source: string, error: unknown, failure: Failure, connected: boolean): Verdict {
  const breaker = onBreaker(failure, connected);
  if (failure.throttled === true) {
    const seconds = pauseSeconds(failure.retryAfterSeconds);
    const answer = new RateLimitedError(source, seconds);
    return { breaker, answer, outcome: 'rate_limited', event: 'connector_throttled', pauseMs: seconds * 1000 };
  }
  switch (failure.kind) {
    case 'infrastructure':
    case 'answered': {
      const answer = new SourceUnavailableError(source, failure.retryAfterSeconds);
      const event =
        failure.kind === 'infrastructure' ? 'connector_infrastructure_failure' : 'connector_operation_unanswered';
      return { breaker, answer, outcome: 'unavailable', event };
    }
    case 'rejected':
      return { breaker, answer: new RejectedError(source), outcome: 'rejected', event: 'connector_operation_rejected' };
    case 'bug':
      return { breaker, answer: error, outcome: 'bug', event: 'connector_bug' };
  }
}

/**
 * An operation that used another executor fails with that one's error. It is already the caller's, has been logged and
 * counted there, and says nothing about this source.
 */
export function passThrough(error: ConnectorError): Verdict {
  return { breaker: 'nothing', answer: error, outcome: outcomeOf(error) };
}

function onBreaker(failure: Failure, connected: boolean): Verdict['breaker'] {
  switch (failure.kind) {
    case 'infrastructure':
      return failure.connecting === true || !connected ? 'connection' : 'other';
    case 'answered':
      return 'success';
    case 'rejected':
      return 'rejected';
    case 'bug':
      return 'nothing';
  }
}

function outcomeOf(error: ConnectorError): CallOutcome {
  switch (error.code) {
    case 'timeout':
    case 'rejected':
    case 'rate_limited':
      return error.code;
    case 'circuit_open':
    case 'saturated':
    case 'unavailable':
      return 'unavailable';
  }
}

/** Zero, negative or not a number is no advice at all. */
function pauseSeconds(advised: number | undefined): number {
  if (advised === undefined || !(advised > 0)) return DEFAULT_PAUSE_SECONDS;
  return Math.min(advised, LONGEST_PAUSE_SECONDS);
}
