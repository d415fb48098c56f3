/**
 * Law (issue 5, point 7): whoever works for a request looks here once and works with what it found; a reload puts a whole new
 * snapshot in its place by one assignment.
 */
export class Current<T extends object> {
  #now: T;

  constructor(first: T) {
    this.#now = first;
  }

  get now(): T {
    return this.#now;
  }

  replace(next: T): void {
    this.#now = next;
  }
}

/** What never changes is current for ever. */
export const currentOf = <T extends object>(value: T | Current<T>): Current<T> =>
  value instanceof Current ? value : new Current(value);
