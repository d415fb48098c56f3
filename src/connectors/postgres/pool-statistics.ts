import { type Clock } from '../../resilience/clock.js';

/** The sizes that pg's Pool tells about itself. */
interface Sizes {
  readonly totalCount: number;
  readonly idleCount: number;
}

/**
 * What /diagnostics shows of a pool, under the keys that the reference's driver uses (spec §2.3). Times are whole
 * milliseconds, counts are since the start.
 */
export class PoolStatistics {
  readonly #counts = new Map<string, number>();
  readonly #since = new WeakMap<object, number>();

  constructor(
    private readonly pool: Sizes,
    private readonly waiting: { readonly size: number },
    private readonly options: { readonly min: number; readonly max: number; readonly clock: Clock },
  ) {}

  requested(): void {
    this.#add('requests_num');
  }

  lent(connection: object): void {
    this.#since.set(connection, this.options.clock.now());
  }

  returned(connection: object): void {
    this.#add('usage_ms', this.#elapsed(connection));
  }

  discarded(connection: object): void {
    this.returned(connection);
    this.#add('returns_bad');
  }

  opening(socket: object): void {
    this.#since.set(socket, this.options.clock.now());
    this.#add('connections_num');
  }

  opened(socket: object): void {
    this.#add('connections_ms', this.#elapsed(socket));
  }

  connectFailed(socket: object): void {
    this.opened(socket);
    this.#add('connections_errors');
    this.#add('requests_errors');
  }

  /** An idle connection was lost. */
  lost(): void {
    this.#add('connections_lost');
  }

  snapshot(): Record<string, number> {
    const counts = [...this.#counts].map(([key, value]) => [key, Math.round(value)] as const);
    return {
      pool_min: this.options.min,
      pool_max: this.options.max,
      pool_size: this.pool.totalCount,
      pool_available: this.pool.idleCount,
      requests_waiting: this.waiting.size,
      ...Object.fromEntries(counts.filter(([, value]) => value > 0)),
    };
  }

  #add(key: string, amount = 1): void {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + amount);
  }

  #elapsed(subject: object): number {
    const now = this.options.clock.now();
    return now - (this.#since.get(subject) ?? now);
  }
}
