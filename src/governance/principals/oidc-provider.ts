import type * as JoseModule from 'jose';
import type { EventLog } from '../../logging/event-log.js';
import { mayBeAsked, type Send } from '../outbound/bounded-request.js';
import type { Now } from '../ports.js';
import { RemoteDocument, RestingError } from './remote-document.js';

/** Milliseconds; spec §6 of mcp-protocol.md: keys for ten minutes. The names in the discovery document hardly ever change. */
const METADATA_FRESH_MS = 3_600_000;
const KEYS_FRESH_MS = 600_000;
/** A key that nobody knows makes us look for it at most this often. */
const REST_MS = 5_000;
const TIMEOUT_MS = 5_000;
const MAX_BYTES = 262_144;

export type Jose = Pick<typeof JoseModule, 'createLocalJWKSet' | 'errors' | 'jwtVerify'>;

/** Of the discovery document, what is used of it. */
export interface ProviderMetadata {
  readonly issuer: string;
  readonly jwksUri: string;
}

/** The keys of one moment. Two of them are compared by identity: whoever has verified with one may ask for a newer one. */
export interface KeySet {
  readonly key: JoseModule.JWTVerifyGetKey;
  readonly text: string;
}

export interface ProviderParts {
  readonly discovery: string;
  readonly send: Send;
  readonly jose: Jose;
  readonly now: Now;
  readonly log: EventLog;
  /** Told when the keys have become others: what was verified with the old ones is not trusted any longer. */
  readonly onNewKeys: () => void;
}

/** An OpenID provider: who it says it is (discovery) and what it signs with (JWKS). Both are asked for when first needed. */
export class OidcProvider {
  readonly metadata: RemoteDocument<ProviderMetadata>;
  readonly keys: RemoteDocument<KeySet>;
  #failing = false;

  constructor(private readonly parts: ProviderParts) {
    const { now } = parts;
    this.metadata = new RemoteDocument({
      ...{ now, freshMs: METADATA_FRESH_MS, restMs: REST_MS },
      load: () => this.#told(() => this.#loadMetadata()),
    });
    this.keys = new RemoteDocument({
      ...{ now, freshMs: KEYS_FRESH_MS, restMs: REST_MS },
      load: () => this.#told(() => this.#loadKeys()),
    });
  }

  async #loadMetadata(): Promise<ProviderMetadata> {
    const { issuer, jwks_uri: jwksUri } = asRecord(JSON.parse(await this.#fetch(this.parts.discovery)));
    if (typeof issuer !== 'string' || issuer === '') throw new TypeError('the discovery document has no issuer');
    const url = typeof jwksUri === 'string' ? URL.parse(jwksUri) : null;
    if (url === null || !mayBeAsked(url)) throw new TypeError('the discovery document has no jwks_uri of https');
    return { issuer, jwksUri: url.href };
  }

  async #loadKeys(): Promise<KeySet> {
    const { jose, onNewKeys } = this.parts;
    const { jwksUri } = await this.metadata.get();
    const text = await this.#fetch(jwksUri);
    const before = this.keys.known;
    if (before?.text === text) return { ...before };
    const { keys } = asRecord(JSON.parse(text));
    if (!Array.isArray(keys)) throw new TypeError('the key set has no keys');
    const key = jose.createLocalJWKSet({ keys: keys as never[] });
    if (before !== undefined) onNewKeys();
    return { key, text };
  }

  async #fetch(url: string): Promise<string> {
    const answer = await this.parts.send(url, {
      ...{ maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS },
      headers: { accept: 'application/json' },
    });
    if (answer.status !== 200) throw new TypeError(`the identity provider answered ${answer.status}`);
    return answer.text;
  }

  /** An outage is told when it begins and when it ends, not for every caller that suffers it. */
  async #told<T>(work: () => Promise<T>): Promise<T> {
    try {
      const value = await work();
      if (this.#failing) this.parts.log.info('identity_provider_recovered');
      this.#failing = false;
      return value;
    } catch (error) {
      if (!this.#failing && !(error instanceof RestingError))
        this.parts.log.error('identity_provider_unusable', {}, error);
      this.#failing = true;
      throw error;
    }
  }
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new TypeError('the identity provider did not answer with an object');
}
