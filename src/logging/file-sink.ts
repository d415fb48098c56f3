import fs from 'node:fs';
import { BatchedSink, type Delivered, type SinkOptions } from './batched-sink.js';

/** A write through the thread pool costs as much CPU as six direct ones (measured), so it should carry several lines. */
const LINGER_MS = 2;

/** The file cannot be opened. The message holds the system's code and never the path. */
export class FileSinkError extends Error {
  override readonly name = 'FileSinkError';
  constructor(readonly code: string) {
    super(`the file cannot be opened for appending (${code})`);
  }
}

/**
 * Lines to a file descriptor. Short writes are continued, and what a full disk refused is kept (within the bound) and
 * written from the exact byte when there is room again: nothing is lost, torn or written twice.
 */
export class FileSink extends BatchedSink {
  #closed = false;

  private constructor(
    private readonly descriptor: number,
    options: SinkOptions,
    startsTorn: boolean,
  ) {
    super(options, LINGER_MS, startsTorn);
  }

  /**
   * Opens `path` for appending, mode 0600 when it is created. A process that was killed may have left half a line: then
   * the first line of ours starts on a new one.
   * @throws FileSinkError
   */
  static open(path: string, options: SinkOptions = {}): FileSink {
    const { O_RDWR, O_APPEND, O_CREAT, O_NONBLOCK } = fs.constants;
    try {
      // Reading is for the last byte. O_NONBLOCK: a named pipe without a reader must not hang the start.
      const descriptor = fs.openSync(path, O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK, 0o600);
      return new FileSink(descriptor, options, endsInsideALine(descriptor));
    } catch (error) {
      throw new FileSinkError((error as NodeJS.ErrnoException).code ?? 'unknown');
    }
  }

  /** Over a descriptor that somebody else opened, such as stdout redirected to a file. */
  static over(descriptor: number, options: SinkOptions = {}): FileSink {
    return new FileSink(descriptor, options, false);
  }

  /** Closes the descriptor; flush first. Lines handed over afterwards are refused. Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    fs.closeSync(this.descriptor);
  }

  protected override deliver(chunk: Buffer, done: Delivered): void {
    const from = (offset: number): void => {
      fs.write(this.descriptor, chunk, offset, chunk.length - offset, null, (error, count) => {
        if (error) return done(error, offset);
        if (offset + count < chunk.length) return from(offset + count);
        done(undefined, chunk.length);
      });
    };
    from(0);
  }

  protected override isFinal(): boolean {
    return this.#closed;
  }

  protected override get isGone(): boolean {
    return this.#closed;
  }
}

function endsInsideALine(descriptor: number): boolean {
  const stats = fs.fstatSync(descriptor);
  if (!stats.isFile() || stats.size === 0) return false;
  const last = Buffer.alloc(1);
  fs.readSync(descriptor, last, 0, 1, stats.size - 1);
  return last[0] !== 0x0a;
}
