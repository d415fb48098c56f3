import type { EventLog, Fields } from '../logging/event-log.js';
import type { Clock } from './clock.js';
import { ConnectorError, RateLimitedError, SaturatedError } from './errors.js';
import type { ExecutorObserver, RefusalCode, RunTrace } from './observer.js';

/**
 * Calls that ended before they began. A source that refuses, refuses thousands: one line a second says as much, with the
 * number of calls it stands for (this one and those since the line before). Open circuits have their own line already.
 */
const SHORTEST_GAP_MS = 1000;

export class Refusals {
  readonly #saturated: RefusalLog;
  readonly #rateLimited: RefusalLog;

  constructor(
    private readonly source: string,
    maxConcurrency: number,
    private readonly clock: Clock,
    private readonly observer: ExecutorObserver,
    log: EventLog,
  ) {
    const fields = { source, max_concurrency: maxConcurrency };
    this.#saturated = new RefusalLog(log, 'concurrency_limit_saturated', fields);
    this.#rateLimited = new RefusalLog(log, 'rate_limit_exceeded', { source });
  }

  /** Anything that is not a ConnectorError is the reason of a caller who left. */
  note(refusal: unknown, arrivedAt: number, trace?: RunTrace): void {
    const now = this.clock.now();
    const waited = (now - arrivedAt) / 1000;
    if (!(refusal instanceof ConnectorError)) {
      trace?.ended('abandoned');
      return this.observer.abandoned?.(this.source, waited);
    }
    if (refusal instanceof SaturatedError) this.#saturated.add(now);
    if (refusal instanceof RateLimitedError) this.#rateLimited.add(now);
    trace?.ended(refusal.code);
    this.observer.refused?.(this.source, refusal.code as RefusalCode, waited);
  }
}

class RefusalLog {
  #count = 0;
  #lastLine = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly log: EventLog,
    private readonly event: string,
    private readonly fields: Fields,
  ) {}

  add(now: number): void {
    this.#count += 1;
    if (now - this.#lastLine < SHORTEST_GAP_MS) return;
    this.log.warning(this.event, { ...this.fields, count: this.#count });
    this.#lastLine = now;
    this.#count = 0;
  }
}
