/** What /diagnostics says of the last failure: enough to know where to look, nothing of what the error said. */
export interface LastError {
  /** Class and, where it has one, code: `Error(ECONNREFUSED)`, `DatabaseError(57P01)`. Never a message. */
  readonly class: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  /** How many times in a row this class was seen. */
  readonly count: number;
}

// Names and codes may come from the source: only what looks like one is shown.
const NAME = /^[A-Za-z_$][\w$]{0,63}$/;
const CODE = /^[A-Z0-9_]{1,40}$/;

export function describeError(error: unknown): string {
  if (typeof error !== 'object' || error === null) return typeof error;
  const name = error.constructor?.name ?? '';
  const shown = NAME.test(name) ? name : 'Error';
  const code = 'code' in error ? error.code : undefined;
  return typeof code === 'string' && CODE.test(code) ? `${shown}(${code})` : shown;
}

export class LastErrorRecord {
  #class: string | undefined;
  #at = new Date(0);
  #count = 0;

  constructor(private readonly wallClock: () => Date) {}

  record(errorClass: string): void {
    this.#count = errorClass === this.#class ? this.#count + 1 : 1;
    this.#class = errorClass;
    this.#at = this.wallClock();
  }

  get value(): LastError | null {
    return this.#class === undefined ? null : { class: this.#class, at: this.#at.toISOString(), count: this.#count };
  }
}
