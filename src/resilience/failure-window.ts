/**
 * Defect B8: with consecutive failures alone, a source that fails four calls of five never opens its circuit. So a circuit
 * opens as well when at least half of the last results failed, over a window four times the threshold (20 results by
 * default): long enough that the reference's consecutive rule always speaks first on a source that is simply down.
 */
const THRESHOLDS_PER_WINDOW = 4;

export class FailureWindow {
  readonly #failed: Uint8Array;
  #next = 0;
  #results = 0;
  #failures = 0;

  constructor(failureThreshold: number) {
    this.#failed = new Uint8Array(failureThreshold * THRESHOLDS_PER_WINDOW);
  }

  record(failed: boolean): void {
    const results = this.#failed;
    this.#failures += Number(failed) - (results[this.#next] ?? 0);
    results[this.#next] = Number(failed);
    this.#next = (this.#next + 1) % results.length;
    if (this.#results < results.length) this.#results += 1;
  }

  /** Only a full window speaks: two failures of three say little. */
  get tooMany(): boolean {
    return this.#results === this.#failed.length && this.#failures * 2 >= this.#results;
  }
}
