/**
 * Laws 2 and 4: the bulkhead. FIFO, nobody overtakes: a slot that comes back goes to the head of the queue before anybody
 * who arrives later can see it free. A slot is returned exactly once.
 */

/** Permission to use the source once. Its holder gives it back when the resource is back or gone, never before. */
export class Slot {
  #back: (() => void) | undefined;

  constructor(back: () => void) {
    this.#back = back;
  }

  /** Throws at the second return: that would be somebody else's slot, and one live operation too many for ever. */
  giveBack(): void {
    const back = this.#back;
    if (back === undefined) throw new Error('a bulkhead slot was returned twice');
    this.#back = undefined;
    back();
  }
}

export interface SlotWaiter {
  /** The slot is the waiter's from this moment; it has left the queue. */
  slotGranted(slot: Slot): void;
}

export class Slots {
  #held = 0;
  // A Set keeps the order of arrival and lets somebody in the middle leave without a search.
  readonly #queue = new Set<SlotWaiter>();
  readonly #back = (): void => this.#passOn();
  #allBack: (() => void)[] = [];

  constructor(private readonly max: number) {}

  get held(): number {
    return this.#held;
  }

  /** A slot that is free now. While somebody waits none is: what comes back is handed over, never put down. */
  take(): Slot | undefined {
    if (this.#held >= this.max) return undefined;
    this.#held += 1;
    return new Slot(this.#back);
  }

  join(waiter: SlotWaiter): void {
    this.#queue.add(waiter);
  }

  leave(waiter: SlotWaiter): void {
    this.#queue.delete(waiter);
  }

  /** Resolves when no slot is held. */
  allBack(): Promise<void> {
    if (this.#held === 0) return Promise.resolve();
    return new Promise((resolve) => this.#allBack.push(resolve));
  }

  #passOn(): void {
    for (const next of this.#queue) {
      // `#held` does not move: between "free" and "taken again" a newcomer could overtake.
      this.#queue.delete(next);
      next.slotGranted(new Slot(this.#back));
      return;
    }
    this.#held -= 1;
    if (this.#held === 0) for (const resolve of this.#allBack.splice(0)) resolve();
  }
}
