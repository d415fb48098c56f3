import { createHash, hash } from 'node:crypto';

/** Signed with the key to name it; no identifier has this form, so the name says nothing about a pseudonym. */
const KEY_ID_MESSAGE = 'mcp-corp/key-id';
const PREFIX = 'hmac-sha256:';
const PSEUDONYM_HEX_DIGITS = 12;
const KEY_ID_HEX_DIGITS = 8;

/** What a record says instead of the identifier. The `_previous` pair exists only while a rotation is under way. */
export interface PseudonymFields {
  readonly identifier: string | null;
  readonly key_id: string;
  readonly identifier_previous?: string | null;
  readonly key_id_previous?: string;
}

/**
 * The pseudonym of a subject (architecture §7, spec §7): `hmac-sha256:` and the first 12 hex digits of
 * HMAC-SHA256(key, canonical identifier), the same for every way of writing it and on every replica with the same key.
 * During a planned rotation the pseudonym under the previous key is written too, so that both halves of a person's
 * history can be joined.
 */
export class Pseudonyms {
  readonly #current: Key;
  readonly #previous: Key | undefined;

  /** Keys are taken as UTF-8. An empty one gives pseudonyms that anybody can reproduce. */
  constructor(key: string, previousKey?: string) {
    this.#current = new Key(key);
    this.#previous = previousKey === undefined ? undefined : new Key(previousKey);
  }

  /** @param canonical short canonical form of the identifier; null when there is none or it cannot be parsed. */
  fields(canonical: string | null): PseudonymFields {
    const current = { identifier: this.#current.pseudonym(canonical), key_id: this.#current.id };
    if (this.#previous === undefined) return current;
    return {
      ...current,
      identifier_previous: this.#previous.pseudonym(canonical),
      key_id_previous: this.#previous.id,
    };
  }
}

/** Bytes of a block of SHA-256, and of its digest. */
const BLOCK = 64;
const DIGEST = 32;
const [INNER, OUTER] = [0x36, 0x5c];

/**
 * HMAC-SHA256 as RFC 2104 defines it, with the padded keys made once. `createHmac` makes an object outside of the
 * JavaScript heap for each digest, which cost a twentieth of every call; the one-shot `hash` makes none.
 */
class Key {
  readonly id: string;
  readonly #inner: Buffer;
  readonly #outer = Buffer.alloc(BLOCK + DIGEST);

  constructor(secret: string) {
    const key = Buffer.from(secret, 'utf8');
    const block = Buffer.alloc(BLOCK);
    (key.length > BLOCK ? createHash('sha256').update(key).digest() : key).copy(block);
    this.#inner = block.map((byte) => byte ^ INNER) as Buffer;
    this.#outer.set(block.map((byte) => byte ^ OUTER));
    this.id = this.#sign(KEY_ID_MESSAGE).slice(0, KEY_ID_HEX_DIGITS);
  }

  pseudonym(canonical: string | null): string | null {
    return canonical === null ? null : PREFIX + this.#sign(canonical).slice(0, PSEUDONYM_HEX_DIGITS);
  }

  #sign(message: string): string {
    const inner = Buffer.concat([this.#inner, Buffer.from(message, 'utf8')]);
    hash('sha256', inner, 'buffer').copy(this.#outer, BLOCK);
    return hash('sha256', this.#outer, 'hex');
  }
}
