import { createHash, timingSafeEqual } from 'node:crypto';

const BEARER = /^Bearer +([\x21-\x7e]+) *$/i;

/** A token that a header is compared with, in a time that says nothing about either. */
export class BearerToken {
  readonly #expected: Buffer;

  constructor(token: string) {
    this.#expected = digest(token);
  }

  /** @param header value of `Authorization`. */
  admits(header: string | undefined): boolean {
    const given = BEARER.exec(header ?? '')?.[1];
    // Digests have one length, so the comparison takes one time, whatever was given.
    return given !== undefined && timingSafeEqual(digest(given), this.#expected);
  }
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token, 'utf8').digest();
}
