/** How far the monotonic clock may be from the wall clock before it is set again: one tick of the wall clock, and slack. */
const TOLERANCE_MS = 2;

/**
 * ISO-8601 in UTC with microseconds, `2026-11-30T12:20:01.123456+00:00` (spec §8.1). The wall clock has milliseconds
 * only, so the rest comes from the monotonic clock, which is set again whenever the wall clock was (NTP, a paused VM).
 */
export class Timestamps {
  #origin: number;
  #second = Number.NaN;
  #text = '';

  constructor(
    private readonly wall: () => number = Date.now,
    private readonly monotonic: () => number = () => performance.now(),
  ) {
    this.#origin = wall() - monotonic();
  }

  now(): string {
    const wall = this.wall();
    const monotonic = this.monotonic();
    let milliseconds = this.#origin + monotonic;
    if (Math.abs(milliseconds - wall) > TOLERANCE_MS) {
      this.#origin = wall - monotonic;
      milliseconds = wall;
    }
    const second = Math.floor(milliseconds / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#text = new Date(second * 1000).toISOString().slice(0, 20);
    }
    const micros = Math.floor((milliseconds - second * 1000) * 1000);
    return `${this.#text}${String(micros).padStart(6, '0')}+00:00`;
  }
}
