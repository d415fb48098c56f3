import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { EventLog } from '../../logging/event-log.js';
import type { Issuer } from '../core/index.js';
import type { PrincipalResolver, Recognition } from '../ports.js';
import type { Secrets } from '../secrets/secret-text.js';

interface Key {
  readonly issuer: Issuer;
  readonly reference: string;
  readonly subject: string;
}

/**
 * Who presents which static key. Every key is compared with what was presented, in constant time and also after one has
 * fitted: the time of an answer tells neither how much of a key was right nor whose it is. What is compared are MACs under
 * a key of this process, so lengths are equal. A key that two issuers share is nobody's.
 */
export class StaticKeys implements PrincipalResolver {
  readonly #mac = randomBytes(32);
  readonly #keys: readonly Key[];
  /** Issuers whose key could not be read when it was last tried: said once, and again after it had been there. */
  readonly #unreadable = new Set<string>();

  constructor(
    issuers: Iterable<Issuer>,
    private readonly secrets: Secrets,
    private readonly log: EventLog,
  ) {
    this.#keys = [...issuers].flatMap((issuer) => {
      const { kind, secretRef: reference, subject } = issuer;
      return kind === 'static-key' && reference !== undefined && subject !== undefined
        ? [{ issuer, reference, subject }]
        : [];
    });
  }

  async resolve(presented: string, signal: AbortSignal): Promise<Recognition> {
    if (presented === '') return { ok: false, problem: 'credential_missing' };
    const sent = this.#macOf(presented);
    const fits = await Promise.all(this.#keys.map((key) => this.#fits(key, sent, signal)));
    const holders = this.#keys.filter((_, index) => fits[index]);
    const [holder] = holders;
    if (holder === undefined) return { ok: false, problem: 'credential_invalid' };
    if (holders.length > 1) {
      this.log.error('static_key_shared', { issuers: holders.map(({ issuer }) => issuer.id) });
      return { ok: false, problem: 'credential_invalid' };
    }
    const { issuer, subject } = holder;
    return {
      ok: true,
      principal: { issuer: issuer.id, subject, attributes: Object.fromEntries(issuer.attributes) },
    };
  }

  /** Says at the start which keys cannot be read; nobody is recognised by them until they can. */
  async check(signal: AbortSignal): Promise<void> {
    const looks = await Promise.allSettled(this.#keys.map((key) => this.#fits(key, this.#macOf(''), signal)));
    for (const [index, { status }] of looks.entries())
      if (status === 'rejected') this.log.error('static_key_unreadable', { issuer: this.#keys[index]?.issuer.id });
  }

  async #fits({ issuer, reference }: Key, sent: Buffer, signal: AbortSignal): Promise<boolean> {
    let expected: string;
    try {
      expected = await this.secrets.read(reference, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!this.#unreadable.has(issuer.id)) this.log.error('static_key_unreadable', { issuer: issuer.id }, error);
      this.#unreadable.add(issuer.id);
      return false;
    }
    this.#unreadable.delete(issuer.id);
    return timingSafeEqual(this.#macOf(expected), sent);
  }

  #macOf(text: string): Buffer {
    return createHmac('sha256', this.#mac).update(text).digest();
  }
}
