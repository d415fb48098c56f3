import type { Clock } from './clock.js';
import { RateLimitedError, SaturatedError } from './errors.js';
import type { Slot, Slots, SlotWaiter } from './slots.js';
import type { Token, TokenBucket, TokenWaiter } from './token-bucket.js';

/**
 * Laws 1 to 3 for a call that has not begun: first its token, then its slot, both within one limit. Once it waits it is
 * rejected only by that limit, its caller's abort or shutdown; the executor adds the second breaker check.
 */
export class WaitingRoom {
  readonly #waiting = new Set<Waiting>();

  constructor(
    private readonly source: string,
    private readonly slots: Slots,
    private readonly bucket: TokenBucket,
    private readonly maxQueue: number,
    private readonly clock: Clock,
  ) {}

  /** Calls that wait for a token or a slot. */
  get size(): number {
    return this.#waiting.size;
  }

  /**
   * Entry now, or a call that waits for it. Throws RateLimitedError when the token cannot come by `limit` (an instant of the
   * clock) and SaturatedError when the queue is full.
   */
  enter(now: number, limit: number, caller: AbortSignal): Entry | Waiting {
    const token = this.bucket.take(now);
    if (token === undefined) {
      const comesAt = this.bucket.nextComesAt();
      if (comesAt > limit) throw new RateLimitedError(this.source, (comesAt - now) / 1000);
    } else {
      const slot = this.slots.take();
      if (slot !== undefined) return { token, slot };
    }
    if (this.#waiting.size >= this.maxQueue || limit <= now) {
      if (token !== undefined) this.bucket.giveBack(token);
      throw new SaturatedError(this.source);
    }
    return new Waiting(this.source, this.slots, this.bucket, this.#waiting, this.clock, token, limit, caller);
  }

  /** Shutdown: everybody who waits is told `reason`. */
  dismiss(reason: Error): void {
    for (const waiting of this.#waiting) waiting.dismiss(reason);
  }
}

export interface Entry {
  readonly token: Token;
  readonly slot: Slot;
}

export class Waiting implements TokenWaiter, SlotWaiter {
  /** The end of the wait. A promise, so that the call goes on in its own async context, not in that of who made room. */
  readonly entry: Promise<Entry>;
  #admit!: (entry: Entry) => void;
  #reject!: (reason: unknown) => void;
  readonly #cancelTimer: () => void;
  #token: Token | undefined;

  constructor(
    private readonly source: string,
    private readonly slots: Slots,
    private readonly bucket: TokenBucket,
    private readonly room: Set<Waiting>,
    private readonly clock: Clock,
    token: Token | undefined,
    limit: number,
    private readonly caller: AbortSignal,
  ) {
    this.entry = new Promise((admit, reject) => {
      this.#admit = admit;
      this.#reject = reject;
    });
    this.#token = token;
    room.add(this);
    this.#cancelTimer = clock.after(limit - clock.now(), () => this.#timeIsUp());
    caller.addEventListener('abort', this);
    if (token === undefined) bucket.join(this);
    else slots.join(this);
  }

  // The token and the slot are taken in the same step: were there a turn between them, a newcomer could overtake.
  tokenGranted(token: Token): void {
    this.#token = token;
    const slot = this.slots.take();
    if (slot === undefined) this.slots.join(this);
    else this.slotGranted(slot);
  }

  slotGranted(slot: Slot): void {
    this.#end();
    this.#admit({ token: this.#token as Token, slot });
  }

  /** The caller's abort. */
  handleEvent(): void {
    this.dismiss(this.caller.reason);
  }

  dismiss(reason: unknown): void {
    this.#end();
    this.slots.leave(this);
    this.bucket.leave(this);
    if (this.#token !== undefined) this.bucket.giveBack(this.#token);
    this.#reject(reason);
  }

  #timeIsUp(): void {
    // A token that comes at this very instant is in time, whichever timer fires first.
    this.bucket.grantDue();
    if (!this.room.has(this)) return;
    // Only a pause that began while it waited can make a token late.
    const late = this.#token === undefined;
    const comesIn = (this.bucket.nextComesAt() - this.clock.now()) / 1000;
    this.dismiss(late ? new RateLimitedError(this.source, comesIn) : new SaturatedError(this.source));
  }

  #end(): void {
    this.room.delete(this);
    this.#cancelTimer();
    this.caller.removeEventListener('abort', this);
  }
}
