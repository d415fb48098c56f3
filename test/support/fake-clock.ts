import type { Clock } from '../../src/resilience/clock.js';

interface Appointment {
  readonly due: number;
  readonly task: () => void;
}

/**
 * A clock that moves only when told. Due timers run one by one, in the order of their instants and then of their making,
 * and whatever each of them sets going in promises has ended before the next one runs.
 */
export class FakeClock implements Clock {
  #now = 1_000_000;
  // A Set keeps the order of making, which decides between equal instants.
  readonly #appointments = new Set<Appointment>();

  now(): number {
    return this.#now;
  }

  after(milliseconds: number, task: () => void): () => void {
    const appointment = { due: this.#now + Math.max(0, milliseconds), task };
    this.#appointments.add(appointment);
    return () => void this.#appointments.delete(appointment);
  }

  /** Timers that are still set. */
  get pending(): number {
    return this.#appointments.size;
  }

  /** Lets everything that needs no time happen. */
  async settle(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
  }

  async advance(milliseconds: number): Promise<void> {
    const end = this.#now + milliseconds;
    await this.settle();
    for (let next = this.#earliest(end); next !== undefined; next = this.#earliest(end)) {
      this.#appointments.delete(next);
      this.#now = Math.max(this.#now, next.due);
      next.task();
      await this.settle();
    }
    this.#now = end;
  }

  /** Time passes and no timer runs: the event loop was busy. What came due runs, late, at the next `advance`. */
  stall(milliseconds: number): void {
    this.#now += milliseconds;
  }

  #earliest(until: number): Appointment | undefined {
    let earliest: Appointment | undefined;
    for (const appointment of this.#appointments) {
      if (appointment.due <= until && (earliest === undefined || appointment.due < earliest.due))
        earliest = appointment;
    }
    return earliest;
  }
}
