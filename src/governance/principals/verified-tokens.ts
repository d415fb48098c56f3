import { createHash } from 'node:crypto';
import type { Recognition } from '../ports.js';

/** Verifying a signature costs as much as the rest of a call (41 to 138 µs); looking it up costs a digest (1.3 µs). */
const MOST = 10_000;

/** Longest trust in a signature that is not looked at again, in milliseconds. */
const LONGEST_MS = 60_000;

interface Verified {
  readonly recognition: Recognition;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

/**
 * Tokens whose signature was verified a moment ago, by their digest and never by themselves. Bounded in number and time, and
 * no entry outlives its token.
 */
export class VerifiedTokens {
  readonly #tokens = new Map<string, Verified>();

  constructor(private readonly most = MOST) {}

  get(token: string, now: number): Recognition | undefined {
    const digest = digestOf(token);
    const found = this.#tokens.get(digest);
    if (found === undefined) return undefined;
    if (now < found.until) return found.recognition;
    this.#tokens.delete(digest);
    return undefined;
  }

  /** @param expires milliseconds since the epoch. */
  put(token: string, recognition: Recognition, expires: number, now: number): void {
    const oldest = this.#tokens.size >= this.most ? this.#tokens.keys().next().value : undefined;
    if (oldest !== undefined) this.#tokens.delete(oldest);
    this.#tokens.set(digestOf(token), { recognition, until: Math.min(expires, now + LONGEST_MS) });
  }

  clear(): void {
    this.#tokens.clear();
  }
}

const digestOf = (token: string): string => createHash('sha256').update(token).digest('base64');
