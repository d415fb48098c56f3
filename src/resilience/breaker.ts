import type { CircuitStateName } from './observer.js';
import { FailureWindow } from './failure-window.js';

/**
 * Law 5: the circuit breaker. Closed, open or half-open; half-open admits one probe at a time. Every call carries the
 * generation it began in, and a result from an earlier generation never moves the state: a late answer of yesterday's call
 * says nothing about today (defect B2).
 */

/** What a failure says about the source (law 7). */
export type FailureCause =
  /** No connection came about, or `health()` said no. */
  | 'connection'
  /** The operation had begun and did not end in time. */
  | 'timeout'
  /** Anything else, such as a connection lost half-way or an HTTP 500. */
  | 'other';

/** Who may close the circuit: `health()` too, or only real calls (law 7: `SELECT 1` says nothing about a slow table). */
export type Healing = 'health' | 'call';

export type CircuitState =
  | { readonly name: 'closed'; failures: number }
  | { readonly name: 'open'; readonly until: number; readonly healing: Healing }
  | { readonly name: 'half_open'; successes: number; probe: Ticket | undefined; readonly healing: Healing };

/** Admission to the source. In half-open it is the probe's permit, and must be reported or given back. */
export interface Ticket {
  readonly generation: number;
}

export interface BreakerSettings {
  readonly failureThreshold: number;
  readonly resetTimeoutMs: number;
  readonly successThreshold: number;
}

export class CircuitBreaker {
  #state: CircuitState = { name: 'closed', failures: 0 };
  // Everybody who is admitted in one closed generation carries the same ticket: nothing is made per call.
  #ticket: Ticket = { generation: 0 };
  #window: FailureWindow;
  // `health()` closed the circuit and no call has succeeded since: its word has not been proved yet.
  #unproved = false;

  constructor(
    private readonly settings: BreakerSettings,
    private readonly changed: (from: CircuitStateName, to: CircuitStateName) => void,
  ) {
    this.#window = new FailureWindow(settings.failureThreshold);
  }

  get state(): Readonly<CircuitState> {
    return this.#state;
  }

  /** The first check of law 1: only reads. */
  refuses(now: number): boolean {
    const state = this.#state;
    switch (state.name) {
      case 'closed':
        return false;
      case 'open':
        return now < state.until;
      case 'half_open':
        return state.probe !== undefined;
    }
  }

  /** The second check of law 1, with the slot in hand. `undefined` = refused. */
  admit(now: number): Ticket | undefined {
    if (this.#state.name === 'closed') return this.#ticket;
    this.halfOpenWhenDue(now);
    const state = this.#state;
    if (state.name !== 'half_open' || state.probe !== undefined) return undefined;
    return (state.probe = { generation: this.#ticket.generation });
  }

  /** The source answered. A health check's answer does not count where only calls heal. */
  succeeded(ticket: Ticket, by: Healing): void {
    if (!this.#takeBack(ticket)) return;
    const state = this.#state;
    if (by === 'call') this.#unproved = false;
    if (state.name === 'closed') {
      state.failures = 0;
      this.#window.record(false);
    } else if (state.name === 'half_open' && (by === 'call' || state.healing === 'health')) {
      state.successes += 1;
      if (state.successes >= this.settings.successThreshold) this.#close(by);
    }
  }

  /** The source refused our request: proof of life in half-open, nothing otherwise (law 6). */
  rejected(ticket: Ticket): void {
    if (this.#state.name === 'half_open') this.succeeded(ticket, 'call');
  }

  failed(ticket: Ticket, now: number, cause: FailureCause): void {
    if (!this.#takeBack(ticket)) return;
    const state = this.#state;
    if (state.name === 'half_open') return this.#open(now, cause);
    if (state.name !== 'closed') return;
    state.failures += 1;
    this.#window.record(true);
    if (state.failures >= this.settings.failureThreshold || this.#window.tooMany) this.#open(now, cause);
  }

  /** The call moved nothing (cancelled, bug): its permit, if it is one, is free again. */
  release(ticket: Ticket): void {
    this.#takeBack(ticket);
  }

  /** Open → half-open when the reset time is over. */
  halfOpenWhenDue(now: number): void {
    const state = this.#state;
    if (state.name !== 'open' || now < state.until) return;
    this.#become({ name: 'half_open', successes: 0, probe: undefined, healing: state.healing });
  }

  /** The source failed at start: opens unless open already (spec §3.2). */
  forceOpen(now: number): void {
    if (this.#state.name !== 'open') this.#open(now, 'connection');
  }

  /** A source that failed at start has connected and is healthy: closes at once, whatever the reset time (law 7). */
  forceClosed(): void {
    if (this.#state.name !== 'closed') this.#close('health');
  }

  /** Whether the ticket's result counts; frees the probe's permit. */
  #takeBack(ticket: Ticket): boolean {
    if (ticket.generation !== this.#ticket.generation) return false;
    if (this.#state.name !== 'half_open') return true;
    if (this.#state.probe !== ticket) return false;
    this.#state.probe = undefined;
    return true;
  }

  #open(now: number, cause: FailureCause): void {
    // The failure that opens the circuit decides how it heals. The last line of it keeps `health()` and a broken
    // operation from closing and opening the circuit for ever, which is law 7's reason for timeouts, for other failures too.
    const healing = cause === 'timeout' || (cause === 'other' && this.#unproved) ? 'call' : 'health';
    this.#become({ name: 'open', until: now + this.settings.resetTimeoutMs, healing });
  }

  #close(by: Healing): void {
    this.#unproved = by === 'health';
    this.#window = new FailureWindow(this.settings.failureThreshold);
    this.#become({ name: 'closed', failures: 0 });
  }

  #become(state: CircuitState): void {
    const from = this.#state.name;
    this.#state = state;
    this.#ticket = { generation: this.#ticket.generation + 1 };
    this.changed(from, state.name);
  }
}
