import type { LineSink } from './line-sink.js';

/**
 * The law of every sink (architecture §7, "Where it goes"):
 *  - order: lines leave in the order in which they were handed over, one write at a time;
 *  - account: a byte is unwritten until the callback of its write; above the bound a line is refused, never buffered;
 *  - errors are facts, never exceptions: they set `failure`, and a later write that succeeds clears it;
 *  - a line is either whole on a line of its own or lost and counted: what follows a torn write starts on a new line.
 *
 * The lines of one turn of the event loop, and those that come while a write is under way, share the next write
 * (measured: half the CPU per line on a file, a fifth less on a pipe). Where a write is dear, small batches wait for more.
 */
export interface SinkOptions {
  /** Bytes that may be unwritten before lines are refused. */
  readonly maxUnwrittenBytes?: number;
  /** Bytes beyond the bound for lines that end something already begun. */
  readonly reserveBytes?: number;
  /** Wall clock, milliseconds since the epoch. */
  readonly now?: () => number;
  /** Calls `task` once, `milliseconds` from now, without keeping the process alive. */
  readonly after?: (milliseconds: number, task: () => void) => void;
}

export const MAX_UNWRITTEN_BYTES = 8 * 1024 * 1024;
/** Two thousand open calls of half a kilobyte each. */
export const RESERVE_BYTES = 1024 * 1024;
/** The most that one failed write can lose; also the capacity of a Linux pipe. */
const MAX_BATCH_BYTES = 64 * 1024;
/** A batch of this size has nothing to gain by waiting. */
const WORTHWHILE_BYTES = 16 * 1024;
const FIRST_RETRY_MS = 10;
const LAST_RETRY_MS = 1_000;
const NEWLINE = Buffer.from('\n');

interface Batch {
  readonly lines: string[];
  bytes: number;
}

/** What became of one write: how many bytes are out, or undefined when a failure leaves that unknown. */
export type Delivered = (error: NodeJS.ErrnoException | undefined, written: number | undefined) => void;

interface FlushWaiter {
  readonly upTo: number;
  readonly lostBefore: number;
  readonly done: (confirmed: boolean) => void;
}

export abstract class BatchedSink implements LineSink {
  readonly #bound: number;
  readonly #reserve: number;
  readonly #now: () => number;
  readonly #after: (milliseconds: number, task: () => void) => void;
  readonly #batches: Batch[] = [];
  /** The batch being written, and what of it is not out yet. */
  #current: Batch | undefined;
  #rest: Buffer | undefined;
  #writing = false;
  #scheduled = false;
  #lingering: NodeJS.Timeout | undefined;
  #retryArmed = false;
  #retryMs = FIRST_RETRY_MS;
  /** A failed write may have left half a line behind. */
  #torn = false;
  /** Refuses everything until a probe succeeds: nobody reads what we write. */
  #closed = false;
  #failure: { readonly code: string; readonly at: number } | undefined;
  #unwritten = 0;
  #handedOver = 0;
  #settled = 0;
  #lost = 0;
  readonly #waiters = new Set<FlushWaiter>();

  /**
   * @param lingerMs how long a small batch waits for more lines, in milliseconds; 0 = to the end of the turn.
   * @param startsTorn what is there already may end inside a line.
   */
  constructor(
    options: SinkOptions = {},
    private readonly lingerMs = 0,
    startsTorn = false,
  ) {
    this.#bound = options.maxUnwrittenBytes ?? MAX_UNWRITTEN_BYTES;
    this.#reserve = options.reserveBytes ?? RESERVE_BYTES;
    this.#now = options.now ?? Date.now;
    this.#after = options.after ?? ((milliseconds, task) => void setTimeout(task, milliseconds).unref());
    this.#torn = startsTorn;
  }

  /** Writes `chunk` and reports once, asynchronously. */
  protected abstract deliver(chunk: Buffer, done: Delivered): void;
  /** Nobody will ever read what is written after this error. */
  protected abstract isFinal(error: NodeJS.ErrnoException): boolean;
  /** Not even a probe makes sense any more. */
  protected abstract get isGone(): boolean;

  get unwrittenBytes(): number {
    return this.#unwritten;
  }

  get lostLines(): number {
    return this.#lost;
  }

  get failure(): { readonly code: string; readonly at: number } | undefined {
    return this.#failure;
  }

  write(line: string, reserve = false): boolean {
    if (this.#closed || this.isGone) {
      this.#retryLater();
      return false;
    }
    const bytes = Buffer.byteLength(line) + 1;
    if (this.#unwritten + bytes > this.#bound + (reserve ? this.#reserve : 0)) return false;
    const last = this.#batches.at(-1);
    if (last !== undefined && last.bytes + bytes <= MAX_BATCH_BYTES) {
      last.lines.push(line);
      last.bytes += bytes;
    } else {
      this.#batches.push({ lines: [line], bytes });
    }
    this.#unwritten += bytes;
    this.#handedOver += 1;
    this.#scheduleSoon();
    return true;
  }

  flush(milliseconds: number): Promise<boolean> {
    if (this.#settled === this.#handedOver) return Promise.resolve(true);
    this.#schedule();
    return new Promise((resolve) => {
      const waiter: FlushWaiter = {
        upTo: this.#handedOver,
        lostBefore: this.#lost,
        done: (confirmed) => {
          clearTimeout(timer);
          this.#waiters.delete(waiter);
          resolve(confirmed);
        },
      };
      const timer = setTimeout(() => waiter.done(false), milliseconds);
      this.#waiters.add(waiter);
    });
  }

  #scheduleSoon(): void {
    if (this.lingerMs === 0 || this.#unwritten >= WORTHWHILE_BYTES) return this.#schedule();
    if (this.#writing || this.#scheduled || this.#lingering !== undefined) return;
    // Keeps the process alive, unlike the retry: these lines are on their way.
    this.#lingering = setTimeout(() => this.#schedule(), this.lingerMs);
  }

  #schedule(): void {
    if (this.#writing || this.#scheduled) return;
    clearTimeout(this.#lingering);
    this.#lingering = undefined;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#writeNext();
    });
  }

  #writeNext(): void {
    if (this.#writing) return;
    // A newline on its own is also the probe of a sink that failed: it risks no line.
    if (this.#torn)
      return this.#write(NEWLINE, (error) => (error === undefined ? this.#mended() : this.#failed(error)));
    if (this.#current === undefined) {
      this.#current = this.#batches.shift();
      if (this.#current === undefined) return;
      this.#rest = Buffer.from(`${this.#current.lines.join('\n')}\n`);
    }
    const { current, rest } = { current: this.#current, rest: this.#rest ?? NEWLINE };
    this.#write(rest, (error, written) => {
      if (error === undefined) {
        this.#settle(current, false);
        this.#healthy();
      } else if (written !== undefined) {
        this.#rest = rest.subarray(written);
        this.#failed(error);
      } else {
        this.#torn = true;
        this.#settle(current, true);
        this.#failed(error);
      }
    });
  }

  #write(chunk: Buffer, done: Delivered): void {
    this.#writing = true;
    let reported = false;
    this.deliver(chunk, (error, written) => {
      if (reported) return;
      reported = true;
      this.#writing = false;
      done(error, written);
    });
  }

  #mended(): void {
    this.#torn = false;
    this.#healthy();
  }

  #healthy(): void {
    this.#failure = undefined;
    this.#closed = false;
    this.#retryMs = FIRST_RETRY_MS;
    if (this.#waiters.size > 0) this.#writeNext();
    else if (this.#settled < this.#handedOver) this.#scheduleSoon();
  }

  #failed(error: NodeJS.ErrnoException): void {
    this.#failure = { code: error.code ?? error.name, at: this.#now() };
    if (this.isFinal(error)) {
      this.#closed = true;
      for (const batch of this.#batches.splice(0)) this.#settle(batch, true);
    }
    if (this.#settled < this.#handedOver) this.#retryLater();
  }

  #retryLater(): void {
    if (this.#retryArmed || this.isGone) return;
    this.#retryArmed = true;
    this.#after(this.#retryMs, () => {
      this.#retryArmed = false;
      this.#retryMs = Math.min(this.#retryMs * 2, LAST_RETRY_MS);
      this.#schedule();
    });
  }

  #settle(batch: Batch, lost: boolean): void {
    if (this.#current === batch) this.#current = this.#rest = undefined;
    this.#unwritten -= batch.bytes;
    this.#settled += batch.lines.length;
    if (lost) this.#lost += batch.lines.length;
    for (const waiter of this.#waiters) {
      if (this.#settled >= waiter.upTo) waiter.done(this.#lost === waiter.lostBefore);
    }
  }
}
