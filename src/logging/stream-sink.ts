import type { Writable } from 'node:stream';
import { BatchedSink, type Delivered, type SinkOptions } from './batched-sink.js';

/** Errors after which nobody reads the stream any more. A named pipe may still find a new reader: see the probe. */
const FINAL_CODES = new Set(['EPIPE', 'ECONNRESET', 'EBADF', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END']);

/**
 * Lines to a stream: a pipe, a terminal, a socket. Whether the stream writes at once or later is the platform's affair;
 * only the callbacks count. A stream never says how much of a failed write got out, so that write's lines are lost and
 * counted, and the next ones start on a line of their own.
 *
 * Not for stdout redirected to a file: Node's stream for that ignores short writes, so a disk that fills up tears a line
 * without an error. `standardSink` chooses.
 */
export class StreamSink extends BatchedSink {
  /** Settles the write under way when the stream is destroyed without calling its callback. */
  #abandon: (() => void) | undefined;

  constructor(
    private readonly stream: Writable,
    options: SinkOptions = {},
  ) {
    super(options);
    // The same errors reach the callbacks. Without a listener they would end the process.
    stream.on('error', () => undefined);
    stream.on('close', () => {
      if (stream.destroyed) this.#abandon?.();
    });
  }

  protected override deliver(chunk: Buffer, done: Delivered): void {
    this.#abandon = () =>
      done(Object.assign(new Error('stream destroyed'), { code: 'ERR_STREAM_DESTROYED' }), undefined);
    this.stream.write(chunk, (error) => {
      this.#abandon = undefined;
      done(error ?? undefined, error ? undefined : chunk.length);
    });
  }

  protected override isFinal(error: NodeJS.ErrnoException): boolean {
    return this.isGone || FINAL_CODES.has(error.code ?? '');
  }

  protected override get isGone(): boolean {
    return this.stream.destroyed || this.stream.writableEnded;
  }
}
