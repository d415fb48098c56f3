import { exhausted, type Charge, type Count } from '../core/index.js';
import type { UsageStore } from '../ports.js';

/** Counters and subjects kept at a time, over all callers. Beyond it usage is unknown, which under a ceiling denies. */
const MOST_COUNTERS = 100_000;
const MOST_SUBJECTS = 1_000_000;

interface Counter {
  readonly windowStart: number;
  readonly windowMs: number;
  used: number;
  readonly subjects: Set<string>;
}

/**
 * Usage of this replica, for as long as it runs. Atomic because nothing in `tryConsume` waits: all charges are looked at
 * before one of them is counted.
 */
export class MemoryUsage implements UsageStore {
  readonly #counters = new Map<string, Counter>();
  #subjects = 0;

  constructor(private readonly most = { counters: MOST_COUNTERS, subjects: MOST_SUBJECTS }) {}

  async tryConsume(
    charges: readonly Charge[],
    at: number,
    signal: AbortSignal,
  ): Promise<{ kind: 'consumed' } | { kind: 'exhausted'; key: string }> {
    signal.throwIfAborted();
    const spent = charges.find((charge) => exhausted(charge, this.#countOf(charge, at), at));
    if (spent !== undefined) return { kind: 'exhausted', key: spent.key };
    this.#makeRoom(charges, at);
    for (const charge of charges) this.#add(charge, at);
    return { kind: 'consumed' };
  }

  #openCounter({ key, windowMs }: Charge, at: number): Counter | undefined {
    const counter = this.#counters.get(key);
    return counter !== undefined && at - counter.windowStart < windowMs ? counter : undefined;
  }

  #countOf(charge: Charge, at: number): Count | undefined {
    const counter = this.#openCounter(charge, at);
    if (counter === undefined) return undefined;
    const { windowStart, used, subjects } = counter;
    const subject = charge.kind === 'subjects' ? charge.subject : undefined;
    return { used, windowStart, subjectCounted: subject !== undefined && subjects.has(subject) };
  }

  /** Throws when there is no room for all of them even without what has run out. */
  #makeRoom(charges: readonly Charge[], at: number): void {
    const fits = (): boolean =>
      this.#counters.size + charges.length <= this.most.counters &&
      this.#subjects + charges.length <= this.most.subjects;
    if (fits()) return;
    for (const [key, { windowStart, windowMs }] of this.#counters) if (at - windowStart >= windowMs) this.#drop(key);
    if (!fits()) throw new Error('too many counters: usage is not known');
  }

  #add(charge: Charge, at: number): void {
    const { key, windowMs } = charge;
    let counter = this.#openCounter(charge, at);
    if (counter === undefined) {
      this.#drop(key);
      counter = { windowStart: at, windowMs, used: 0, subjects: new Set() };
      this.#counters.set(key, counter);
    }
    if (charge.kind === 'calls') {
      counter.used += 1;
    } else if (charge.subject !== undefined && !counter.subjects.has(charge.subject)) {
      counter.subjects.add(charge.subject);
      counter.used += 1;
      this.#subjects += 1;
    }
  }

  #drop(key: string): void {
    this.#subjects -= this.#counters.get(key)?.subjects.size ?? 0;
    this.#counters.delete(key);
  }
}
