import type { ServerResponse } from 'node:http';
import { Exchange } from './exchange.js';

/**
 * How many exchanges are in flight, and the end of them: the drain of the process is "stop(), then idle()", and what is
 * left when the grace is over is cut with `abortAll()`.
 */
export class CallGate {
  readonly #exchanges = new Set<Exchange>();
  readonly #idle = new Set<() => void>();
  #inFlight = 0;
  #stopped = false;

  /** `limit`: calls at a time, asked for at each admission because it is known only when the application is built. */
  constructor(private readonly limit: () => number) {}

  /** Calls in flight; a batch counts for each of its messages. */
  get inFlight(): number {
    return this.#inFlight;
  }

  get isStopped(): boolean {
    return this.#stopped;
  }

  /** Nothing more is admitted just now. */
  get isFull(): boolean {
    return this.#stopped || this.#inFlight >= this.limit();
  }

  /**
   * Admits one request; undefined when it must be refused. Its exchange is cut when the response's connection closes
   * before the answer was handed to the operating system.
   */
  enter(response: ServerResponse): Exchange | undefined {
    const exchange = this.admit();
    if (exchange === undefined) return undefined;
    const onClose = () => {
      if (!response.writableFinished) exchange.cut('cancelled');
      exchange.release();
    };
    // A response whose connection went away while the body was parsed never closes again.
    if (response.closed) onClose();
    else response.once('close', onClose);
    return exchange;
  }

  /** The same for a request that has no connection of its own: whoever answers it calls `release` on it, once. */
  admit(): Exchange | undefined {
    if (this.isFull) return undefined;
    const exchange = new Exchange(this.#leave);
    this.#exchanges.add(exchange);
    this.#inFlight++;
    return exchange;
  }

  /** Makes `exchange` count for `weight` calls; false, and nothing changes, when there is no room for them. */
  widen(exchange: Exchange, weight: number): boolean {
    const more = weight - exchange.weight;
    if (!this.#exchanges.has(exchange) || this.#inFlight + more > this.limit()) return false;
    exchange.weight = weight;
    this.#inFlight += more;
    return true;
  }

  /** Stops counting an exchange that is a stream without an end of its own (`subscriptions/listen`). */
  release(exchange: Exchange): void {
    this.#leave(exchange);
  }

  /** Refuses every new call from now on. */
  stop(): void {
    this.#stopped = true;
  }

  /** Resolves when no call is in flight, at once if there is none. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#exchanges.size === 0) resolve();
      else this.#idle.add(resolve);
    });
  }

  /** Cuts every call in flight; the reason of their signals is a `CallCut` with code `shutdown`. */
  abortAll(): void {
    for (const exchange of this.#exchanges) exchange.cut('shutdown');
  }

  readonly #leave = (exchange: Exchange): void => {
    if (!this.#exchanges.delete(exchange)) return;
    this.#inFlight -= exchange.weight;
    if (this.#exchanges.size > 0) return;
    for (const resolve of this.#idle) resolve();
    this.#idle.clear();
  };
}
