import type { EventLog } from '../../logging/event-log.js';
import type { Issuer } from '../core/index.js';
import type { Send } from '../outbound/bounded-request.js';
import type { Now, PrincipalResolver, Recognition } from '../ports.js';
import { principalOf, scopesOf } from './oidc-claims.js';
import { OidcProvider, type Jose, type KeySet } from './oidc-provider.js';
import { unlessAborted } from '../unless-aborted.js';
import { VerifiedTokens } from './verified-tokens.js';

/** Signatures that only their maker can make: with HS256 the public key would be the secret, and `none` is no signature. */
export const ALGORITHMS: readonly string[] = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];

/** What an access token may say it is (RFC 9068); many providers say `JWT` or nothing. A logout token is none. */
const TYPES: readonly unknown[] = [undefined, 'jwt', 'at+jwt', 'application/at+jwt'];

/** UTF-16 units of a token. */
const LONGEST_TOKEN = 8_192;

/** Seconds that the clock of a provider may be ahead of ours (`nbf`, `iat`). Expiry is taken at its word. */
const SKEW_SECONDS = 5;

const INVALID: Recognition = { ok: false, problem: 'credential_invalid' };
const EXPIRED: Recognition = { ok: false, problem: 'credential_expired' };
const OUT_OF_SCOPE: Recognition = { ok: false, problem: 'scope_insufficient' };

const TOKEN = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]*$/;

const WELL_KNOWN = /\/\.well-known\/openid-configuration$/;

interface Declared {
  readonly issuer: Issuer;
  readonly audience: string;
  readonly provider: OidcProvider;
}

export interface OidcParts {
  readonly send: Send;
  readonly jose: Jose;
  readonly now: Now;
  readonly log: EventLog;
}

/**
 * Who presents a token of which provider. `iss`, read before anything is verified, only picks the issuer, whose keys and
 * audience then verify it. A token that satisfies two issuers is nobody's, as a key is that two share. An outage of the
 * provider is `credential_invalid` (spec §3.3): nobody is recognised by what cannot be checked.
 */
export class OidcIssuers implements PrincipalResolver {
  readonly #declared: readonly Declared[];
  readonly #verified = new VerifiedTokens();

  constructor(
    issuers: Iterable<Issuer>,
    private readonly parts: OidcParts,
  ) {
    const providers = new Map<string, OidcProvider>();
    this.#declared = [...issuers].flatMap((issuer) => {
      const { kind, discovery, audience } = issuer;
      if (kind !== 'oidc' || discovery === undefined || audience === undefined) return [];
      let provider = providers.get(discovery);
      if (provider === undefined) {
        provider = new OidcProvider({ ...parts, discovery, onNewKeys: () => this.#verified.clear() });
        providers.set(discovery, provider);
      }
      return [{ issuer, audience, provider }];
    });
  }

  /** Whether it has the form of a token; then it is worth asking `resolve`. */
  static looksLikeToken(presented: string): boolean {
    return TOKEN.test(presented);
  }

  /** The issuer identifiers of the providers, as far as they can be had; what clients are sent to (RFC 9728). */
  async authorizationServers(): Promise<readonly string[]> {
    const found = this.#declared.map(async ({ provider, issuer: { discovery = '' } }) => {
      try {
        return (await provider.metadata.get()).issuer;
      } catch {
        // OpenID Connect Discovery §4: the document stands under the name of its issuer.
        return WELL_KNOWN.test(discovery) ? discovery.replace(WELL_KNOWN, '') : undefined;
      }
    });
    return [...new Set((await Promise.all(found)).filter((issuer) => issuer !== undefined))];
  }

  async resolve(presented: string, signal: AbortSignal): Promise<Recognition> {
    const now = this.parts.now();
    const known = this.#verified.get(presented, now);
    if (known !== undefined) return known;
    if (presented.length > LONGEST_TOKEN) return INVALID;
    const claims = unverifiedClaims(presented);
    if (typeof claims?.['iss'] !== 'string') return INVALID;
    const candidates = await unlessAborted(this.#candidates(claims['iss']), signal);
    const results = await unlessAborted(
      Promise.all(candidates.map((candidate) => this.#verify(presented, candidate))),
      signal,
    );
    const accepted = results.filter(({ recognition }) => recognition.ok);
    if (accepted.length > 1) {
      this.parts.log.error('token_shared', { issuers: candidates.map(({ issuer }) => issuer.id) });
      return INVALID;
    }
    const [best] = [...accepted, ...results.filter(({ recognition }) => recognition !== INVALID)];
    if (best?.expires !== undefined) this.#verified.put(presented, best.recognition, best.expires, now);
    return best?.recognition ?? INVALID;
  }

  /** Whoever is known by that name; only when nobody is, those are asked whose name is not known yet. */
  async #candidates(iss: string): Promise<readonly Declared[]> {
    const known = this.#declared.filter(({ provider }) => provider.metadata.known?.issuer === iss);
    if (known.length > 0) return known;
    await Promise.allSettled(this.#declared.map(({ provider }) => provider.metadata.get()));
    return this.#declared.filter(({ provider }) => provider.metadata.known?.issuer === iss);
  }

  async #verify(token: string, { issuer, audience, provider }: Declared): Promise<Outcome> {
    try {
      const { issuer: iss } = await provider.metadata.get();
      let keys = await provider.keys.get();
      const check = (): Promise<Outcome> => this.#checked(token, keys, issuer, iss, audience);
      try {
        return await check();
      } catch (error) {
        if (!(error instanceof this.parts.jose.errors.JWKSNoMatchingKey)) throw error;
        const newer = await provider.keys.newerThan(keys);
        if (newer === keys) throw error;
        keys = newer;
        return await check();
      }
    } catch (error) {
      return { recognition: error instanceof this.parts.jose.errors.JWTExpired ? EXPIRED : INVALID };
    }
  }

  async #checked(token: string, { key }: KeySet, issuer: Issuer, iss: string, audience: string): Promise<Outcome> {
    const now = this.parts.now();
    const { payload, protectedHeader } = await this.parts.jose.jwtVerify(token, key, {
      ...{ issuer: iss, audience, algorithms: [...ALGORITHMS], requiredClaims: ['exp', 'sub'] },
      ...{ clockTolerance: SKEW_SECONDS, currentDate: new Date(now) },
    });
    if (!TYPES.includes(protectedHeader.typ?.toLowerCase())) return { recognition: INVALID };
    const expires = Number(payload.exp) * 1_000;
    if (!(now < expires)) return { recognition: EXPIRED };
    // Bound to a key that we do not ask the caller to prove (RFC 7800): whoever shows it may have stolen it.
    if (payload['cnf'] !== undefined) return { recognition: INVALID };
    const principal = principalOf(payload, issuer);
    if (principal === undefined) return { recognition: INVALID };
    const scopes = scopesOf(payload);
    if (!(issuer.scopes ?? []).every((scope) => scopes.has(scope))) return { recognition: OUT_OF_SCOPE, expires };
    return { recognition: { ok: true, principal }, expires };
  }
}

interface Outcome {
  readonly recognition: Recognition;
  /** Milliseconds since the epoch; only of what was verified and may be remembered. */
  readonly expires?: number;
}

function unverifiedClaims(token: string): Readonly<Record<string, unknown>> | undefined {
  const [, , payload = ''] = TOKEN.exec(token) ?? [];
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    return typeof claims === 'object' && claims !== null ? (claims as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
