import type { EventLog } from '../logging/event-log.js';
import type { CircuitBreaker, FailureCause } from './breaker.js';
import type { Clock } from './clock.js';
import type { Connector, Failure } from './connector.js';
import { ConnectorError, OperationTimeoutError } from './errors.js';
import { describeError, type LastErrorRecord } from './last-error.js';
import type { CallOutcome, ExecutorObserver } from './observer.js';
import type { CallHost, LiveCall } from './running-call.js';
import type { TokenBucket } from './token-bucket.js';
import { judge, passThrough, type Verdict } from './verdict.js';

/**
 * What follows from how a call ends: for the breaker (law 6: each call counts at most once), the rate limiter, the log,
 * the metrics, /diagnostics, and the error its caller gets (law 8).
 */
export interface OutcomeParts<R> {
  readonly connector: Connector<R>;
  readonly clock: Clock;
  readonly cancelGraceMs: number;
  readonly breaker: CircuitBreaker;
  readonly bucket: TokenBucket;
  readonly log: EventLog;
  readonly observer: ExecutorObserver;
  readonly lastError: LastErrorRecord;
}

export class CallOutcomes<R> implements CallHost<R> {
  readonly connector: Connector<R>;
  readonly clock: Clock;
  readonly cancelGraceMs: number;
  /** Calls that hold a slot. */
  readonly live = new Set<LiveCall>();
  #settling = 0;

  constructor(private readonly parts: OutcomeParts<R>) {
    this.connector = parts.connector;
    this.clock = parts.clock;
    this.cancelGraceMs = parts.cancelGraceMs;
  }

  /** Slots whose caller was answered and whose resource is not back. */
  get settling(): number {
    return this.#settling;
  }

  worked(call: LiveCall): void {
    call.counted = true;
    this.parts.breaker.succeeded(call.ticket, 'call');
    this.#observe(call, 'success');
  }

  broke(call: LiveCall, error: unknown): unknown {
    const verdict =
      error instanceof ConnectorError
        ? passThrough(error)
        : judge(this.connector.name, error, this.#classify(error), call.invoked);
    this.#count(call, verdict.breaker);
    if (verdict.event !== undefined) {
      this.parts.lastError.record(describeError(error));
      this.#report(verdict, verdict.event, error);
    }
    if (verdict.pauseMs !== undefined) this.parts.bucket.pause(this.clock.now() + verdict.pauseMs);
    this.#observe(call, verdict.outcome);
    return verdict.answer;
  }

  timedOut(call: LiveCall): Error {
    const { limit, limitIsCallers, startedAt } = call.times;
    const answer = new OperationTimeoutError(this.connector.name);
    // A caller in a hurry says nothing about the source; if it does not even stop when asked, the kill counts.
    if (!limitIsCallers) this.#count(call, lateness(call));
    this.parts.lastError.record(describeError(answer));
    const fields = { timeout_seconds: (limit - startedAt) / 1000, connecting: !call.invoked };
    this.parts.log.warning('operation_timeout', { source: this.connector.name, ...fields });
    this.#observe(call, 'timeout');
    this.#settle(+1);
    return answer;
  }

  abandoned(call: LiveCall, byCaller: boolean): void {
    this.#observe(call, byCaller ? 'cancelled' : 'unavailable');
    this.#settle(+1);
  }

  killed(call: LiveCall): void {
    const source = this.connector.name;
    if (!call.counted) {
      this.#count(call, lateness(call));
      this.parts.lastError.record('OperationKilled');
    }
    this.parts.log.warning('operation_killed', { source, grace_seconds: this.cancelGraceMs / 1000 });
    this.parts.observer.killed?.(source);
  }

  over(call: LiveCall): void {
    this.live.delete(call);
    if (!call.counted) this.parts.breaker.release(call.ticket);
    if (call.settling) this.#settle(-1);
    call.slot.giveBack();
  }

  #count(call: LiveCall, what: Verdict['breaker']): void {
    const { breaker } = this.parts;
    call.counted = what !== 'nothing';
    switch (what) {
      case 'nothing':
        return;
      case 'success':
        return breaker.succeeded(call.ticket, 'call');
      case 'rejected':
        return breaker.rejected(call.ticket);
      default:
        return breaker.failed(call.ticket, this.clock.now(), what);
    }
  }

  #classify(error: unknown): Failure {
    try {
      return this.connector.classify(error);
    } catch (fault) {
      this.parts.log.error('connector_bug', { source: this.connector.name, method: 'classify' }, fault);
      return { kind: 'bug' };
    }
  }

  #report(verdict: Verdict, event: string, cause: unknown): void {
    const source = this.connector.name;
    if (verdict.pauseMs === undefined) this.parts.log.error(event, { source }, cause);
    else this.parts.log.warning(event, { source, pause_seconds: verdict.pauseMs / 1000 });
  }

  #observe(call: LiveCall, outcome: CallOutcome): void {
    const { observer } = this.parts;
    call.trace?.ended(outcome);
    if (observer.settled === undefined) return;
    const { arrivedAt, startedAt } = call.times;
    const duration = (this.clock.now() - startedAt) / 1000;
    observer.settled(this.connector.name, outcome, duration, (startedAt - arrivedAt) / 1000);
  }

  #settle(change: 1 | -1): void {
    this.#settling += change;
    this.parts.observer.settlingChanged?.(this.connector.name, this.#settling);
  }
}

/** Law 7: an operation that never began was still connecting. */
function lateness(call: LiveCall): FailureCause {
  return call.invoked ? 'timeout' : 'connection';
}
