import { createHash } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK, type JWTHeaderParameters } from 'jose';
import { startHttpServer, type TestServer } from './http-server.js';

/** One key of the provider. */
export interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

export async function signingKey(kid: string, alg = 'ES256'): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

export type Claims = Readonly<Record<string, unknown>>;

/**
 * An OpenID provider as far as tokens, keys and a login with a code need one: real HTTP, real signatures. The login asks
 * nobody for a password.
 */
export class IdentityProvider {
  /** What the key set holds. */
  keys: SigningKey[] = [];
  /** Answers of the two documents; undefined = as it should be. */
  down: { discovery?: number; jwks?: number } = {};
  issuer: string;
  /** Claims of the tokens that a login gives. */
  loginClaims: Claims = {};
  readonly #codes = new Map<string, URLSearchParams>();

  private constructor(
    readonly server: TestServer,
    readonly key: SigningKey,
  ) {
    this.issuer = server.url;
    this.keys = [key];
  }

  static async start(): Promise<IdentityProvider> {
    const key = await signingKey('uno');
    let provider: IdentityProvider | undefined = undefined;
    const server = await startHttpServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => void provider?.answer(request.url ?? '', Buffer.concat(chunks).toString(), response));
    });
    provider = new IdentityProvider(server, key);
    return provider;
  }

  get discovery(): string {
    return `${this.server.url}/.well-known/openid-configuration`;
  }

  asked(path: string): number {
    return this.server.requests.filter((request) => request.path === path).length;
  }

  /** An access token; `claims` over the usual ones, `undefined` takes one away. */
  async token(
    claims: Claims = {},
    { key = this.key, header = {} }: { key?: SigningKey; header?: Partial<JWTHeaderParameters> } = {},
  ): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const all = { iss: this.issuer, aud: 'mcp-corp', sub: 'ana', iat: now, exp: now + 300, ...claims };
    return new SignJWT(JSON.parse(JSON.stringify(all)) as Record<string, unknown>)
      .setProtectedHeader({ alg: key.alg, kid: key.kid, ...header })
      .sign(key.privateKey);
  }

  async answer(
    path: string,
    body: string,
    response: { writeHead(status: number, headers?: Record<string, string>): unknown; end(text?: string): unknown },
  ): Promise<void> {
    const json = (value: unknown, status = 200): void => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(value));
    };
    const url = new URL(path, this.server.url);
    if (url.pathname.startsWith('/.well-known/')) {
      if (this.down.discovery !== undefined) return json({}, this.down.discovery);
      return json({
        issuer: this.issuer,
        jwks_uri: `${this.server.url}/jwks`,
        authorization_endpoint: `${this.server.url}/authorize`,
        token_endpoint: `${this.server.url}/token`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['ES256'],
        grant_types_supported: ['authorization_code', 'refresh_token'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
      });
    }
    if (url.pathname === '/jwks') {
      if (this.down.jwks !== undefined) return json({}, this.down.jwks);
      return json({ keys: this.keys.map(({ jwk }) => jwk) });
    }
    if (url.pathname === '/authorize') {
      const code = `codigo-${this.#codes.size}`;
      this.#codes.set(code, url.searchParams);
      const back = new URL(url.searchParams.get('redirect_uri') ?? '');
      back.searchParams.set('code', code);
      if (url.searchParams.has('state')) back.searchParams.set('state', url.searchParams.get('state') ?? '');
      response.writeHead(302, { location: back.href });
      response.end();
      return;
    }
    if (url.pathname === '/token') {
      const form = new URLSearchParams(body);
      const asked = this.#codes.get(form.get('code') ?? '');
      const proof = createHash('sha256')
        .update(form.get('code_verifier') ?? '')
        .digest('base64url');
      if (asked?.get('code_challenge') !== proof) return json({ error: 'invalid_grant' }, 400);
      const scope = asked.get('scope');
      const token = await this.token({
        ...(scope !== null && { scope }),
        ...this.loginClaims,
        resource: asked.get('resource'),
      });
      return json({ access_token: token, token_type: 'Bearer', expires_in: 300, ...(scope !== null && { scope }) });
    }
    json({ error: 'not found' }, 404);
  }

  close(): Promise<void> {
    return this.server.close();
  }
}
