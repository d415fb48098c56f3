import type { Clock } from './clock.js';
import type { Account, Connector, ConnectorRunOptions, Operation, RunOptions } from './connector.js';
import type { Ticket } from './breaker.js';
import type { RunTrace } from './observer.js';
import type { Slot } from './slots.js';

/**
 * Laws 3 and 4, the cancelling slot: one call from the moment it holds its slot. The caller is answered once and in time;
 * the slot stays until `connector.run` settles, because only then is the resource back or gone. Between the two the call
 * is settling: asked to stop politely, and `cancelGraceMs` later killed.
 */

/** What the executor does at each step. Each call gets one of the first four, perhaps `killed`, and `over` at the end. */
export interface CallHost<R> {
  readonly connector: Connector<R>;
  readonly clock: Clock;
  readonly cancelGraceMs: number;
  worked(call: LiveCall): void;
  /** Returns the error for the caller. */
  broke(call: LiveCall, error: unknown): unknown;
  /** The time is up. Returns the error for the caller. */
  timedOut(call: LiveCall): Error;
  /** The caller left, or shutdown left him. */
  abandoned(call: LiveCall, byCaller: boolean): void;
  /** The polite signal was ignored for the whole grace. */
  killed(call: LiveCall): void;
  /** `connector.run` has settled. */
  over(call: LiveCall): void;
}

/** What the executor sees of a call, whatever its types. */
export interface LiveCall {
  readonly times: CallTimes;
  readonly ticket: Ticket;
  readonly slot: Slot;
  /** Absent: nobody follows this call. */
  readonly trace: RunTrace | undefined;
  /** The connector has begun the operation: it is connected. */
  readonly invoked: boolean;
  /** The caller was answered and the resource is not back. */
  readonly settling: boolean;
  /** The call's one result has been counted by the breaker. */
  counted: boolean;
  /** Shutdown: answers with `reason` and stops the operation. */
  shutDown(reason: Error): void;
}

export interface CallTimes {
  /** Instants of the clock, milliseconds. */
  readonly arrivedAt: number;
  readonly startedAt: number;
  readonly limit: number;
  /** The limit is the caller's own deadline, shorter than the time the source is promised. */
  readonly limitIsCallers: boolean;
}

/**
 * Also the options that the connector receives: `signal` and `kill` are made when first read, since most calls end before
 * anybody listens to `kill`.
 */
export class RunningCall<R, T> implements LiveCall, ConnectorRunOptions {
  readonly account: Account | undefined;
  invoked = false;
  counted = false;
  #phase: 'running' | 'settling' | 'over' = 'running';
  #politely: AbortController | undefined;
  #forcibly: AbortController | undefined;
  #reason: unknown;
  #killed = false;
  #cancelTimer!: () => void;
  #resolve!: (value: T) => void;
  #reject!: (reason: unknown) => void;

  constructor(
    private readonly host: CallHost<R>,
    private readonly options: RunOptions,
    readonly times: CallTimes,
    readonly ticket: Ticket,
    readonly slot: Slot,
    readonly trace: RunTrace | undefined,
  ) {
    this.account = options.account;
  }

  get signal(): AbortSignal {
    if (this.#politely === undefined) {
      this.#politely = new AbortController();
      if (this.#phase === 'settling') this.#politely.abort(this.#reason);
    }
    return this.#politely.signal;
  }

  get kill(): AbortSignal {
    if (this.#forcibly === undefined) {
      this.#forcibly = new AbortController();
      if (this.#killed) this.#forcibly.abort();
    }
    return this.#forcibly.signal;
  }

  get settling(): boolean {
    return this.#phase === 'settling';
  }

  begin(operation: Operation<R, T>): Promise<T> {
    const { clock, connector } = this.host;
    const answer = new Promise<T>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#cancelTimer = clock.after(this.times.limit - this.times.startedAt, () => {
      this.#answerEarly(this.host.timedOut(this));
    });
    this.options.signal.addEventListener('abort', this);
    let work: Promise<T>;
    try {
      work = Promise.resolve(connector.run((resource, signal) => this.#invoke(operation, resource, signal), this));
    } catch (error) {
      // A connector that throws where it should reject holds no resource; the slot must not leak for it.
      work = rejected(error);
    }
    work.then(
      (value) => this.#worked(value),
      (error: unknown) => this.#broke(error),
    );
    return answer;
  }

  /** The caller's abort. */
  handleEvent(): void {
    this.#abandon(this.options.signal.reason, true);
  }

  shutDown(reason: Error): void {
    if (this.#phase === 'running') this.#abandon(reason, false);
  }

  #invoke(operation: Operation<R, T>, resource: R, signal: AbortSignal): Promise<T> {
    // Nobody waits for it any more: a connection that came too late must not be used.
    if (this.#phase !== 'running') return rejected(this.#reason ?? new Error('the call is over'));
    if (!this.invoked) {
      this.invoked = true;
      this.options.touched?.();
    }
    const { trace } = this;
    return trace === undefined ? operation(resource, signal) : trace.operating(() => operation(resource, signal));
  }

  #abandon(reason: unknown, byCaller: boolean): void {
    this.#cancelTimer();
    this.host.abandoned(this, byCaller);
    this.#answerEarly(reason);
  }

  #answerEarly(reason: unknown): void {
    this.#phase = 'settling';
    this.#reason = reason;
    this.options.signal.removeEventListener('abort', this);
    this.#reject(reason);
    this.#cancelTimer = this.host.clock.after(this.host.cancelGraceMs, () => this.#kill());
    this.#politely?.abort(reason);
  }

  #kill(): void {
    this.#killed = true;
    this.host.killed(this);
    this.#forcibly?.abort();
  }

  #worked(value: T): void {
    if (this.#phase === 'running') {
      this.host.worked(this);
      this.#resolve(value);
    }
    this.#over();
  }

  #broke(error: unknown): void {
    // Once the caller has his answer, an error is how the operation was told to end, and says nothing more.
    if (this.#phase === 'running') this.#reject(this.host.broke(this, error));
    this.#over();
  }

  #over(): void {
    this.#cancelTimer();
    this.options.signal.removeEventListener('abort', this);
    this.host.over(this);
    this.#phase = 'over';
  }
}

/** The reasons of callers and connectors are theirs, Errors or not, and are passed on as they are. */
export async function rejected(reason: unknown): Promise<never> {
  throw reason;
}
