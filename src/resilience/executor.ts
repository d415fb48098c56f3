import { AsyncLocalStorage } from 'node:async_hooks';
import type { EventLog } from '../logging/event-log.js';
import { CircuitBreaker, type Ticket } from './breaker.js';
import { CallOutcomes } from './call-outcomes.js';
import { type Clock, systemClock } from './clock.js';
import type { Connector, Operation, RunOptions } from './connector.js';
import { CircuitOpenError, SaturatedError, SourceUnavailableError } from './errors.js';
import type { ExecutorSettings } from './executor-settings.js';
import { guarded } from './guarded-observer.js';
import { LastErrorRecord } from './last-error.js';
import type { CircuitStateName, ExecutorObserver, RunTrace } from './observer.js';
import { Recovery } from './recovery.js';
import { Refusals } from './refusals.js';
import { rejected, RunningCall } from './running-call.js';
import { Slots } from './slots.js';
import type { ExecutorSnapshot, RateLimitSnapshot } from './snapshot.js';
import { TokenBucket } from './token-bucket.js';
import { type Entry, Waiting, WaitingRoom } from './waiting-room.js';

export interface ExecutorParts<R> {
  readonly connector: Connector<R>;
  readonly settings: ExecutorSettings;
  readonly log: EventLog;
  readonly clock?: Clock;
  /** Only for the instants that people read. */
  readonly wallClock?: () => Date;
  readonly observer?: ExecutorObserver;
  /** In [0, 1). */
  readonly random?: () => number;
}

/** How long `close` waits, once every kill has been delivered, for a connector that breaks its contract. */
const CLOSE_MARGIN_MS = 1000;

/**
 * One per source and replica; nothing in it is shared with another (law 9). A call walks breaker ▸ rate limit ▸ slot ▸
 * breaker ▸ operation under one deadline. The laws are those of architecture §4; each file beside this one states its own.
 */
export class ResilientExecutor<R> {
  readonly source: string;
  readonly #settings: ExecutorSettings;
  readonly #clock: Clock;
  readonly #wallClock: () => Date;
  readonly #log: EventLog;
  readonly #observer: ExecutorObserver;
  readonly #breaker: CircuitBreaker;
  readonly #slots: Slots;
  readonly #bucket: TokenBucket;
  readonly #room: WaitingRoom;
  readonly #outcomes: CallOutcomes<R>;
  readonly #recovery: Recovery;
  readonly #lastError: LastErrorRecord;
  readonly #refusals: Refusals;
  // Recovery belongs to no call: inside the call that opened the circuit, its log lines would carry that call's
  // correlation id for hours.
  readonly #outsideCalls = AsyncLocalStorage.snapshot();
  #openedAt: Date | undefined;
  #connected: (() => void) | undefined;
  #closed = false;
  #closing: Promise<void> | undefined;

  constructor(parts: ExecutorParts<R>) {
    const { connector, settings, log, clock = systemClock, observer = {}, random = Math.random } = parts;
    const source = (this.source = connector.name);
    this.#settings = settings;
    this.#clock = clock;
    this.#wallClock = parts.wallClock ?? (() => new Date());
    this.#log = log;
    this.#observer = guarded(observer, source, log);
    this.#lastError = new LastErrorRecord(this.#wallClock);
    const breaker = (this.#breaker = new CircuitBreaker(settings, (from, to) => this.#circuitChanged(from, to)));
    const slots = (this.#slots = new Slots(settings.maxConcurrency));
    const bucket = (this.#bucket = new TokenBucket(settings.rateLimitPerSecond, settings.rateLimitBurst, clock));
    this.#room = new WaitingRoom(source, slots, bucket, settings.maxQueue, clock);
    this.#outcomes = new CallOutcomes({
      ...{ connector, clock, breaker, bucket, log, observer: this.#observer, lastError: this.#lastError },
      cancelGraceMs: settings.cancelGraceMs,
    });
    const probed: ExecutorObserver['probed'] = this.#observer.probed;
    this.#recovery = new Recovery({
      ...{ connector, breaker, slots, bucket, clock, log, random },
      probed: (outcome) => probed?.(source, outcome),
    });
    this.#refusals = new Refusals(source, settings.maxConcurrency, clock, this.#observer, log);
  }

  get state(): CircuitStateName {
    return this.#breaker.state.name;
  }

  /**
   * Runs one operation. Rejects with a ConnectorError (law 8), with the caller's `signal.reason` when the caller leaves, or
   * with the operation's own error when that is a programming error. Never later than the deadline.
   */
  run<T>(operation: Operation<R, T>, options: RunOptions): Promise<T> {
    const arrivedAt = this.#clock.now();
    const deadline = Math.min(arrivedAt + this.#settings.callDeadlineMs, options.deadline ?? Infinity);
    const trace = this.#observer.began?.(this.source);
    try {
      const entry = this.#enter(arrivedAt, deadline, options.signal);
      if (entry instanceof Waiting) {
        return this.#runLater(entry, operation, options, arrivedAt, deadline, trace);
      }
      return this.#begin(entry, operation, options, arrivedAt, deadline, trace);
    } catch (refusal) {
      this.#refusals.note(refusal, arrivedAt, trace);
      return rejected(refusal);
    }
  }

  /**
   * The source failed at start: its circuit opens, and it is retried in the background (law 7). `connected` is called once,
   * when the circuit has closed for the first time; it must not throw.
   */
  startFailed(connected?: () => void): void {
    this.#connected = connected;
    this.#outsideCalls(() => {
      this.#recovery.startFailed();
      this.#breaker.forceOpen(this.#clock.now());
    });
  }

  startSucceeded(): void {
    this.#outsideCalls(() => this.#breaker.forceClosed());
  }

  snapshot(): ExecutorSnapshot {
    const nextProbeAt = this.state === 'open' ? this.#recovery.nextProbeAt : undefined;
    return {
      source: this.source,
      circuit_state: this.state,
      in_flight: this.#slots.held,
      queued: this.#room.size,
      settling: this.#outcomes.settling,
      max_concurrency: this.#settings.maxConcurrency,
      opened_at: this.#openedAt?.toISOString() ?? null,
      next_probe_at: this.#wallTime(nextProbeAt),
      last_error: this.#lastError.value,
      rate_limit: this.#rateLimit(),
    };
  }

  /**
   * Refuses new and queued calls, answers and stops the running ones, ends the background work. Resolves when every slot is
   * back: at the latest a second after the last kill.
   */
  close(): Promise<void> {
    return (this.#closing ??= this.#shutDown());
  }

  /** Everything before the operation, up to the slot. Throws the refusal. */
  #enter(now: number, deadline: number, caller: AbortSignal): Entry | Waiting {
    this.#checkStillWanted(now, deadline, caller);
    if (this.#breaker.refuses(now)) throw this.#circuitOpen(now);
    const limit = Math.min(now + this.#settings.acquireTimeoutMs, deadline);
    return this.#room.enter(now, limit, caller);
  }

  /** Async, so that the operation begins in its caller's async context and not in that of the call that made room. */
  async #runLater<T>(
    waiting: Waiting,
    operation: Operation<R, T>,
    options: RunOptions,
    arrivedAt: number,
    deadline: number,
    trace: RunTrace | undefined,
  ): Promise<T> {
    this.#observer.queued?.(this.source);
    trace?.queued();
    let running: Promise<T>;
    try {
      running = this.#begin(await waiting.entry, operation, options, arrivedAt, deadline, trace);
    } catch (refusal) {
      this.#refusals.note(refusal, arrivedAt, trace);
      throw refusal;
    }
    return running;
  }

  /** The slot is in hand. Throws a refusal after having given it on. */
  #begin<T>(
    entry: Entry,
    operation: Operation<R, T>,
    options: RunOptions,
    arrivedAt: number,
    deadline: number,
    trace: RunTrace | undefined,
  ): Promise<T> {
    const now = this.#clock.now();
    let ticket: Ticket | undefined;
    try {
      this.#checkStillWanted(now, deadline, options.signal);
      ticket = this.#breaker.admit(now);
      if (ticket === undefined) throw this.#circuitOpen(now);
    } catch (refusal) {
      entry.slot.giveBack();
      this.#bucket.giveBack(entry.token);
      throw refusal;
    }
    const promised = Math.min(now + this.#settings.operationTimeoutMs, arrivedAt + this.#settings.callDeadlineMs);
    const limit = Math.min(promised, deadline);
    const limitIsCallers = limit < promised;
    const times = { arrivedAt, startedAt: now, limit, limitIsCallers };
    const call = new RunningCall<R, T>(this.#outcomes, options, times, ticket, entry.slot, trace);
    this.#outcomes.live.add(call);
    this.#observer.started?.(this.source, (now - arrivedAt) / 1000);
    trace?.connecting();
    return call.begin(operation);
  }

  /** A call that is no longer worth beginning. Its time being up is saturation: the source has not been asked (law 3). */
  #checkStillWanted(now: number, deadline: number, caller: AbortSignal): void {
    caller.throwIfAborted();
    if (this.#closed) throw new SourceUnavailableError(this.source);
    if (deadline <= now) throw new SaturatedError(this.source);
  }

  #circuitOpen(now: number): CircuitOpenError {
    const { state } = this.#breaker;
    if (state.name !== 'open') return new CircuitOpenError(this.source);
    const nextProbeAt = this.#recovery.nextProbeAt ?? state.until;
    return new CircuitOpenError(this.source, Math.max(0, nextProbeAt - now) / 1000);
  }

  #circuitChanged(from: CircuitStateName, to: CircuitStateName): void {
    if (to === 'open') this.#openedAt = this.#wallClock();
    if (to === 'closed') this.#openedAt = undefined;
    this.#log.info('circuit_breaker_state_change', { source: this.source, from_state: from, to_state: to });
    this.#observer.stateChanged?.(this.source, from, to);
    this.#outsideCalls(() => {
      this.#recovery.circuitChanged(to);
      if (to === 'closed') this.#tellConnected();
    });
  }

  #tellConnected(): void {
    const connected = this.#connected;
    this.#connected = undefined;
    connected?.();
  }

  async #shutDown(): Promise<void> {
    this.#closed = true;
    this.#recovery.stop();
    const reason = new SourceUnavailableError(this.source);
    this.#room.dismiss(reason);
    for (const call of this.#outcomes.live) call.shutDown(reason);
    this.#bucket.stop();
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(this.#settings.cancelGraceMs + CLOSE_MARGIN_MS, () => {
        this.#log.error('connector_bug', { source: this.source, slots_not_returned: this.#slots.held });
        resolve();
      });
      void this.#slots.allBack().then(() => {
        cancel();
        resolve();
      });
    });
  }

  #rateLimit(): RateLimitSnapshot | null {
    const now = this.#clock.now();
    const { rateLimitPerSecond, rateLimitBurst } = this.#settings;
    const pausedUntil = this.#bucket.pausedUntil(now);
    if (rateLimitPerSecond === undefined && pausedUntil === undefined) return null;
    return {
      per_second: rateLimitPerSecond ?? null,
      burst: rateLimitPerSecond === undefined ? null : rateLimitBurst,
      available: this.#bucket.available(now),
      paused_until: this.#wallTime(pausedUntil),
    };
  }

  #wallTime(instant: number | undefined): string | null {
    if (instant === undefined) return null;
    return new Date(this.#wallClock().getTime() + instant - this.#clock.now()).toISOString();
  }
}
