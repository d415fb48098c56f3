import type { IncomingMessage } from 'node:http';
import { BUSY, ENCODED_BODY, SLOW_BODY, WRONG_MEDIA_TYPE, tooLarge, type Refusal } from './refusal.js';

export interface BodyLimits {
  /** Bytes of one body. */
  readonly bytes: number;
  /** Bytes of all bodies that are being read at one time: what slow senders may hold together. */
  readonly totalBytes: number;
  /** Milliseconds from the first look to the last byte. */
  readonly milliseconds: number;
}

/** `gone`: the client went away before its last byte; there is nobody to answer. */
export type Body =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'gone' };

const MEDIA_TYPE = /^application\/json\s*(?:;|$)/i;

/** Reads each body once, under limits of size and time. Slow senders hold bytes and time here, but no call's place. */
export class BodyReader {
  #held = 0;

  constructor(private readonly limits: BodyLimits) {}

  read(req: IncomingMessage): Promise<Body> {
    const refusal = this.refuseHeaders(req);
    return refusal === undefined ? this.collect(req) : Promise.resolve({ kind: 'refused', refusal });
  }

  private refuseHeaders({ headers }: IncomingMessage): Refusal | undefined {
    if (!MEDIA_TYPE.test(headers['content-type'] ?? '')) return WRONG_MEDIA_TYPE;
    if ((headers['content-encoding'] ?? 'identity') !== 'identity') return ENCODED_BODY;
    return Number(headers['content-length']) > this.limits.bytes ? tooLarge(this.limits.bytes) : undefined;
  }

  private collect(req: IncomingMessage): Promise<Body> {
    return new Promise((resolve) => {
      const chunks: Buffer[] = [];
      let size = 0;
      const done = (body: Body) => {
        clearTimeout(timer);
        this.#held -= size;
        req.off('data', onData).off('end', onEnd).off('close', onGone).off('error', onGone);
        // An error that comes later has nobody to report to, and must not end the process.
        req.on('error', ignored);
        resolve(body);
      };
      const onData = (chunk: Buffer) => {
        chunks.push(chunk);
        size += chunk.length;
        this.#held += chunk.length;
        if (size > this.limits.bytes) done({ kind: 'refused', refusal: tooLarge(this.limits.bytes) });
        else if (this.#held > this.limits.totalBytes) done({ kind: 'refused', refusal: BUSY });
      };
      const onEnd = () => done({ kind: 'text', text: textOf(chunks) });
      const onGone = () => done({ kind: 'gone' });
      const timer = setTimeout(() => done({ kind: 'refused', refusal: SLOW_BODY }), this.limits.milliseconds);
      req.on('data', onData).on('end', onEnd).on('close', onGone).on('error', onGone);
    });
  }
}

const ignored = () => undefined;

function textOf(chunks: readonly Buffer[]): string {
  const [first] = chunks;
  return (chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks)).toString('utf8');
}
