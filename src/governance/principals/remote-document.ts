import type { Now } from '../ports.js';

export interface RemoteDocumentOptions<T> {
  readonly load: () => Promise<T>;
  readonly now: Now;
  /** Milliseconds for which it is used without asking again. */
  readonly freshMs: number;
  /** Milliseconds between two questions, whatever outsiders make us want: also after one that failed. */
  readonly restMs: number;
}

export class RestingError extends Error {
  override readonly name = 'RestingError';

  constructor() {
    super('asked a moment ago');
  }
}

/**
 * A document of somebody else, kept for a while. One question at a time however many wait for it, and a pause after each:
 * what an outsider sends can make us ask again, never more often than that. One that is too old and cannot be had again is
 * not used (fail closed).
 */
export class RemoteDocument<T> {
  #known: { readonly value: T; readonly at: number } | undefined;
  #askedAt = -Infinity;
  #flight: Promise<T> | undefined;

  constructor(private readonly options: RemoteDocumentOptions<T>) {}

  /** What is at hand, also when it is too old. */
  get known(): T | undefined {
    return this.#known?.value;
  }

  async get(): Promise<T> {
    const { now, freshMs } = this.options;
    const known = this.#known;
    return known !== undefined && now() - known.at < freshMs ? known.value : this.#ask();
  }

  /** A newer one than `seen`, if the pause is over; else `seen` itself. */
  async newerThan(seen: T): Promise<T> {
    const known = this.#known;
    if (known !== undefined && known.value !== seen) return known.value;
    return this.#rests() && this.#flight === undefined ? seen : this.#ask();
  }

  #rests(): boolean {
    const { now, restMs } = this.options;
    return now() - this.#askedAt < restMs;
  }

  #ask(): Promise<T> {
    if (this.#flight !== undefined) return this.#flight;
    if (this.#rests()) return Promise.reject(new RestingError());
    const { load, now } = this.options;
    this.#askedAt = now();
    const flight = load()
      .then((value) => {
        this.#known = { value, at: now() };
        return value;
      })
      .finally(() => (this.#flight = undefined));
    this.#flight = flight;
    return flight;
  }
}
