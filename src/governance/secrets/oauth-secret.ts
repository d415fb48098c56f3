import type { EventLog } from '../../logging/event-log.js';
import { RequestError, type Send } from '../outbound/bounded-request.js';
import type { Now } from '../ports.js';
import { oauthReference, type OAuthReference } from './oauth-reference.js';
import { SecretError, type SecretProblem, type SecretScheme } from './secret-text.js';
import { SingleFlight } from './single-flight.js';

const TIMEOUT_MS = 5_000;
const MAX_BYTES = 65_536;

/** Milliseconds before its end from which a token is not used any more: a call that begins with it must end with it. */
const MARGIN_MS = 60_000;

export interface OAuthParts {
  readonly send: Send;
  /** The client's own secret. Rejects with a SecretError. */
  readonly secret: (reference: string, signal: AbortSignal) => Promise<string>;
  readonly now: Now;
  readonly log: EventLog;
}

interface Token {
  readonly text: string;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

/**
 * `oauth+https://…`: the access token that a client of its own gets (client credentials, RFC 6749 §4.4). Kept until 60 s before
 * its end; one that does not say when it ends is used once. A new token is another secret, so the epoch of its account
 * changes with it. Plain http only to this machine.
 */
export function oauthSecret(scheme: 'https' | 'http', parts: OAuthParts): SecretScheme {
  const tokens = new Map<string, Token>();
  const flights = new SingleFlight<string>();
  return async (rest) => {
    const known = tokens.get(rest);
    if (known !== undefined && parts.now() < known.until) return known.text;
    return flights.run(rest, async () => {
      try {
        const token = await ask(scheme, rest, parts);
        if (token.until > parts.now()) tokens.set(rest, token);
        else tokens.delete(rest);
        return token.text;
      } catch (error) {
        const { problem, detail } = reasonOf(error);
        parts.log.warning('oauth_token_failed', { problem, detail });
        throw new SecretError(problem);
      }
    });
  };
}

class TokenError extends Error {
  constructor(
    readonly problem: SecretProblem,
    readonly detail: string,
  ) {
    super(detail);
  }
}

async function ask(scheme: 'https' | 'http', rest: string, { send, secret, now }: OAuthParts): Promise<Token> {
  const reference = oauthReference(scheme, rest);
  if (reference === undefined)
    throw new TokenError(
      'unreadable',
      'the reference is not oauth+https://<token endpoint>?client=…&secret=<reference>',
    );
  const asked = now();
  const { status, text } = await send(reference.tokenUrl, {
    ...{ method: 'POST', maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS },
    ...formOf(reference, await secret(reference.secret, AbortSignal.timeout(TIMEOUT_MS))),
  });
  if (status === 400 || status === 401) throw new TokenError('refused', 'the token endpoint refuses the client');
  if (status !== 200) throw new TokenError('unreadable', `status ${status}`);
  return tokenOf(JSON.parse(text), asked);
}

function formOf(
  { client, scope, audience, auth }: OAuthReference,
  secret: string,
): { readonly headers: Record<string, string>; readonly body: string } {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    ...(scope !== undefined && { scope }),
    ...(audience !== undefined && { audience }),
    ...(auth === 'post' && { client_id: client, client_secret: secret }),
  });
  const basic = Buffer.from(`${formEncoded(client)}:${formEncoded(secret)}`).toString('base64');
  return {
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
      ...(auth === 'basic' && { authorization: `Basic ${basic}` }),
    },
    body: form.toString(),
  };
}

/** RFC 6749 §2.3.1: both halves are encoded as forms are before they are joined. */
const formEncoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1);

function tokenOf(answer: unknown, asked: number): Token {
  const { access_token: text, token_type: type, expires_in: seconds } = (answer ?? {}) as Record<string, unknown>;
  if (typeof text !== 'string' || !/^[\x21-\x7e]{1,16384}$/.test(text))
    throw new TokenError('unreadable', 'the answer has no access token');
  if (typeof type === 'string' && type.toLowerCase() !== 'bearer')
    throw new TokenError('unreadable', 'the token is not a bearer token');
  const lifetime = Number(seconds) * 1_000;
  return { text, until: Number.isFinite(lifetime) ? asked + lifetime - MARGIN_MS : -Infinity };
}

function reasonOf(error: unknown): { readonly problem: SecretProblem; readonly detail: string } {
  if (error instanceof TokenError) return { problem: error.problem, detail: error.detail };
  if (error instanceof SecretError)
    return { problem: 'unreadable', detail: `the secret of the client: ${error.problem}` };
  if (error instanceof RequestError) return { problem: 'unreachable', detail: error.message };
  return { problem: 'unreadable', detail: 'the answer of the token endpoint is not JSON' };
}
