import { Writable } from 'node:stream';

/** A stream whose writes end when the test says so, and how. Like process.stdout it can be used again after an error. */
export class HandStream extends Writable {
  #destroyed = false;
  readonly #waiting: { chunk: Buffer; callback: (error?: Error | null) => void }[] = [];
  #arrivals: (() => void)[] = [];
  output = '';

  constructor() {
    super({ autoDestroy: true, emitClose: false });
  }

  override _write(chunk: Buffer, _encoding: string, callback: (error?: Error | null) => void): void {
    this.#waiting.push({ chunk, callback });
    for (const arrival of this.#arrivals.splice(0)) arrival();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    callback(error);
    if (this.#destroyed) this.emit('close');
    else (this as unknown as { _undestroy(): void })._undestroy();
  }

  /** For good, with a write under way. */
  break(): void {
    this.#destroyed = true;
    this.destroy(systemError('EIO'));
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Resolves when a write is waiting for its end. */
  async arrival(): Promise<string> {
    while (this.#waiting.length === 0) await new Promise<void>((resolve) => this.#arrivals.push(resolve));
    return String(this.#waiting[0]?.chunk);
  }

  async succeed(): Promise<void> {
    await this.arrival();
    const write = this.#waiting.shift();
    this.output += String(write?.chunk);
    write?.callback();
    await callbacks();
  }

  /** The write fails after `bytes` of it got out. */
  async fail(code: string, bytes = 0): Promise<void> {
    await this.arrival();
    const write = this.#waiting.shift();
    this.output += String(write?.chunk.subarray(0, bytes));
    write?.callback(systemError(code));
    await callbacks();
  }
}

export function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: made by the test`), { code });
}

/** A turn of the event loop: what was scheduled for it has run. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Node reports the end of a write on the next tick. */
function callbacks(): Promise<void> {
  return new Promise((resolve) => process.nextTick(() => process.nextTick(resolve)));
}

/** Appointments that come due when the test says so. */
export class HandTimers {
  readonly #tasks: { milliseconds: number; task: () => void }[] = [];
  readonly after = (milliseconds: number, task: () => void): void => void this.#tasks.push({ milliseconds, task });

  get due(): readonly number[] {
    return this.#tasks.map(({ milliseconds }) => milliseconds);
  }

  fire(): void {
    for (const { task } of this.#tasks.splice(0)) task();
  }
}

export const wholeLines = (text: string): string[] => text.split('\n').filter((line) => line !== '');
