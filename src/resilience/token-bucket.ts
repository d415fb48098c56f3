import type { Clock } from './clock.js';

/**
 * Law 1's rate limiter. It reserves: a waiter's place in the queue fixes when its token comes, so a call whose token would
 * come too late is refused at once instead of after the wait. FIFO; who leaves moves everybody behind one token forward.
 *
 * One number holds the whole state (the theoretical arrival time of the generic cell rate algorithm): the n-th waiter's
 * token comes at `#full - #tolerance + n × #interval`, where `#full` is the instant at which the bucket would be full.
 */

/** Proof that a token was taken, needed to give it back: the era in which it was. */
export type Token = number;

export interface TokenWaiter {
  /** The token is the waiter's from this moment; it has left the queue. */
  tokenGranted(token: Token): void;
}

export class TokenBucket {
  /** Milliseconds a token takes to come back; 0 = no limit. */
  readonly #interval: number;
  /** How far ahead of the steady rate a quiet source may run: all of the burst but the first token. */
  readonly #tolerance: number;
  readonly #burst: number;
  #full = Number.NEGATIVE_INFINITY;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  // Time has already given back what was taken before the bucket was last full, and a pause has voided it: a token
  // returned from an earlier era would be one too many.
  #era: Token = 0;
  readonly #queue = new Set<TokenWaiter>();
  #cancelTimer: (() => void) | undefined;

  constructor(
    ratePerSecond: number | undefined,
    burst: number,
    private readonly clock: Clock,
  ) {
    this.#interval = ratePerSecond === undefined ? 0 : 1000 / ratePerSecond;
    this.#burst = burst;
    this.#tolerance = this.#interval * (burst - 1);
  }

  /** A token that is there now; `undefined` when none is, or when somebody waits for it. */
  take(now: number): Token | undefined {
    return this.#queue.size > 0 || this.#comes(0) > now ? undefined : this.#spend(now);
  }

  /** Instant (milliseconds of the clock) at which the token of somebody who joins now would come. */
  nextComesAt(): number {
    return this.#comes(this.#queue.size);
  }

  join(waiter: TokenWaiter): void {
    this.#queue.add(waiter);
    this.#arm();
  }

  leave(waiter: TokenWaiter): void {
    if (this.#queue.delete(waiter)) this.#arm();
  }

  /** The call that took it never began. */
  giveBack(token: Token): void {
    if (token !== this.#era) return;
    this.#full -= this.#interval;
    this.grantDue();
  }

  /**
   * Gives no token before `until`; only ever extends. The bucket starts empty again then: the source has just said that it
   * can take less than we thought, so no saved-up burst.
   */
  pause(until: number): void {
    if (until <= this.#pausedUntil) return;
    this.#pausedUntil = until;
    this.#era += 1;
    this.#full = Math.max(this.#full, until + this.#tolerance);
    this.#arm();
  }

  /** Gives the waiters the tokens that have come. */
  grantDue(): void {
    const now = this.clock.now();
    for (const waiter of this.#queue) {
      if (this.#comes(0) > now) break;
      this.#queue.delete(waiter);
      waiter.tokenGranted(this.#spend(now));
    }
    this.#arm();
  }

  /** Whole tokens in the bucket now; the burst when there is no limit. */
  available(now: number): number {
    if (this.#comes(0) > now) return 0;
    if (this.#interval === 0) return this.#burst;
    return Math.min(this.#burst, Math.floor((now + this.#tolerance - this.#full) / this.#interval) + 1);
  }

  /** The instant until which it is paused, `undefined` when it is not. */
  pausedUntil(now: number): number | undefined {
    return this.#pausedUntil > now ? this.#pausedUntil : undefined;
  }

  stop(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #comes(place: number): number {
    return this.#full - this.#tolerance + place * this.#interval;
  }

  #spend(now: number): Token {
    if (this.#full <= now) {
      this.#era += 1;
      this.#full = now;
    }
    this.#full += this.#interval;
    return this.#era;
  }

  /** One timer, for the head: timers of their own could fire out of order within a millisecond, and so overtake. */
  #arm(): void {
    this.stop();
    if (this.#queue.size === 0) return;
    this.#cancelTimer = this.clock.after(Math.max(0, this.#comes(0) - this.clock.now()), () => this.grantDue());
  }
}
