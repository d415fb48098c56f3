import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import * as jose from 'jose';
import type { Issuer } from '../../../../src/governance/core/index.js';
import { boundedSender } from '../../../../src/governance/outbound/bounded-request.js';
import { OidcIssuers } from '../../../../src/governance/principals/oidc-issuers.js';
import type { Recognition } from '../../../../src/governance/ports.js';
import { startHttpServer } from '../../../support/http-server.js';
import { IdentityProvider, signingKey, type SigningKey } from '../../../support/identity-provider.js';

const { signal } = new AbortController();
const INVALID = { ok: false, problem: 'credential_invalid' };
const EXPIRED = { ok: false, problem: 'credential_expired' };

let provider: IdentityProvider;
let now: number;
const logged: string[] = [];
const log = {
  debug: () => undefined,
  info: (event: string) => void logged.push(event),
  warning: (event: string) => void logged.push(event),
  error: (event: string) => void logged.push(event),
};

const issuer = (more: Partial<Issuer> = {}): Issuer => ({
  ...{ id: 'personal', kind: 'oidc', path: '/principals/issuers/0' },
  ...{ discovery: provider.discovery, audience: 'mcp-corp' },
  attributes: new Map([
    ['unidad', 'claim:unit'],
    ['nivel', 'claim:level'],
  ]),
  ...more,
});
const issuers = (...declared: Issuer[]) =>
  new OidcIssuers(declared.length > 0 ? declared : [issuer()], { send: boundedSender(), jose, now: () => now, log });
const resolve = async (token: string, one = issuers()): Promise<Recognition> => one.resolve(token, signal);
const seconds = () => Math.floor(now / 1000);

beforeAll(async () => {
  provider = await IdentityProvider.start();
});
afterAll(() => provider.close());
beforeEach(() => {
  now = Date.now();
  provider.keys = [provider.key];
  provider.down = {};
  provider.issuer = provider.server.url;
  logged.length = 0;
});

describe('a token of an OpenID provider', () => {
  it('names its subject, and attributes only by claims that are declared and have one value', async () => {
    const claims = { unit: ['caja'], level: 3, otra: 'x' };
    expect(await resolve(await provider.token(claims))).toEqual({
      ok: true,
      principal: { issuer: 'personal', subject: 'ana', attributes: { unidad: 'caja', nivel: '3' } },
    });
    for (const unit of [['a', 'b'], [], { a: 1 }, null, 'con\nsalto', 'x'.repeat(257)])
      expect(await resolve(await provider.token({ unit }))).toMatchObject({ ok: true, principal: { attributes: {} } });
  });

  it.each(['RS256', 'PS384', 'ES512', 'Ed25519'])('may be signed with %s', async (alg) => {
    const key = await signingKey(alg, alg);
    provider.keys = [provider.key, key];
    expect(await resolve(await provider.token({}, { key }))).toMatchObject({ ok: true });
  });

  it.each([
    ['of another audience', { aud: 'otro-servicio' }],
    ['without an audience', { aud: undefined }],
    ['of another issuer', { iss: 'https://otro.example.com' }],
    ['without an issuer', { iss: undefined }],
    ['without an end', { exp: undefined }],
    ['whose end is no number', { exp: 'mañana' }],
    ['without a subject', { sub: undefined }],
    ['with an empty subject', { sub: '  ' }],
    ['with a subject of control characters', { sub: 'ana\u0000' }],
    ['bound to a key that nobody proves', { cnf: { jkt: 'x' } }],
  ])('is not valid %s', async (_, claims) => {
    expect(await resolve(await provider.token(claims))).toEqual(INVALID);
  });

  it('with several audiences is valid when ours is among them', async () => {
    expect(await resolve(await provider.token({ aud: ['otro', 'mcp-corp'] }))).toMatchObject({ ok: true });
  });

  it('is expired from the very second of its end, and not valid before its beginning', async () => {
    expect(await resolve(await provider.token({ exp: seconds() + 1 }))).toMatchObject({ ok: true });
    expect(await resolve(await provider.token({ exp: seconds() }))).toEqual(EXPIRED);
    expect(await resolve(await provider.token({ exp: seconds() - 3600 }))).toEqual(EXPIRED);
    expect(await resolve(await provider.token({ nbf: seconds() + 60 }))).toEqual(INVALID);
    expect(await resolve(await provider.token({ nbf: seconds() + 2 }))).toMatchObject({ ok: true });
  });

  it.each(['logout+jwt', 'dpop+jwt'])('is none when it says that it is %s', async (typ) => {
    expect(await resolve(await provider.token({}, { header: { typ } }))).toEqual(INVALID);
  });

  it.each(['JWT', 'at+jwt'])('may say that it is %s', async (typ) => {
    expect(await resolve(await provider.token({}, { header: { typ } }))).toMatchObject({ ok: true });
  });

  it('without a signature is not valid, whatever it says of its algorithm', async () => {
    const [header = '', payload = ''] = (await provider.token()).split('.');
    const none = Buffer.from('{"alg":"none"}').toString('base64url');
    for (const token of [`${none}.${payload}.`, `${none}.${payload}.x`, `${header}.${payload}.`])
      expect(await resolve(token)).toEqual(INVALID);
  });

  it('signed with the public key as a secret (HS256) is not valid', async () => {
    const key = await signingKey('rsa', 'RS256');
    provider.keys = [key];
    const [, payload = ''] = (await provider.token({}, { key })).split('.');
    const pem = await jose.exportSPKI((await jose.importJWK(key.jwk, 'RS256')) as jose.CryptoKey);
    for (const secret of [pem, JSON.stringify(key.jwk), key.jwk.n ?? '']) {
      const head = Buffer.from(JSON.stringify({ alg: 'HS256', kid: 'rsa' })).toString('base64url');
      const mac = createHmac('sha256', secret).update(`${head}.${payload}`).digest('base64url');
      expect(await resolve(`${head}.${payload}.${mac}`)).toEqual(INVALID);
    }
  });

  it('changed after it was signed, or signed by somebody else under a known name, is not valid', async () => {
    const token = await provider.token();
    const [header = '', , signature = ''] = token.split('.');
    const other = Buffer.from(JSON.stringify({ ...jose.decodeJwt(token), sub: 'jefa' })).toString('base64url');
    expect(await resolve(`${header}.${other}.${signature}`)).toEqual(INVALID);
    const thief: SigningKey = { ...(await signingKey('x')), kid: provider.key.kid };
    expect(await resolve(await provider.token({}, { key: thief }))).toEqual(INVALID);
  });

  it('does not bring its own key', async () => {
    const thief = await signingKey('ladron');
    for (const header of [{ jwk: thief.jwk }, { jku: `${provider.server.url}/jwks` }, { x5u: 'https://x.example' }])
      expect(await resolve(await provider.token({}, { key: thief, header }))).toEqual(INVALID);
  });

  it('longer than 8 KiB is not even looked at', async () => {
    const one = issuers();
    const before = provider.server.requests.length;
    expect(await resolve(await provider.token({ relleno: 'x'.repeat(9_000) }), one)).toEqual(INVALID);
    expect(provider.server.requests).toHaveLength(before);
  });

  it.each(['a.b.c', '..', 'eyJ.eyJ.', `${'e30'}.${'bnVsbA'}.x`])('is none when it is %s', async (text) => {
    expect(await resolve(text)).toEqual(INVALID);
  });

  it('is out of scope when it lacks one of the scopes of its issuer, in either form of the claim', async () => {
    const scoped = () => issuers(issuer({ scopes: ['mcp.usar', 'mcp.leer'] }));
    expect(await resolve(await provider.token({ scope: 'mcp.usar mcp.leer x' }), scoped())).toMatchObject({ ok: true });
    expect(await resolve(await provider.token({ scp: ['mcp.leer', 'mcp.usar'] }), scoped())).toMatchObject({
      ok: true,
    });
    for (const claims of [{}, { scope: 'mcp.usar' }, { scope: 'mcp.usar.mcp.leer' }, { scp: [1] }])
      expect(await resolve(await provider.token(claims), scoped())).toEqual({
        ok: false,
        problem: 'scope_insufficient',
      });
  });
});

describe('the keys of a provider', () => {
  it('are asked for once, however many tokens come at a time', async () => {
    const one = issuers();
    const before = [provider.asked('/jwks'), provider.asked('/.well-known/openid-configuration')];
    const tokens = await Promise.all(Array.from({ length: 20 }, (_, n) => provider.token({ sub: `p${n}` })));
    const results = await Promise.all(tokens.map((token) => resolve(token, one)));
    expect(results.every(({ ok }) => ok)).toBe(true);
    expect(provider.asked('/jwks') - before[0]!).toBe(1);
    expect(provider.asked('/.well-known/openid-configuration') - before[1]!).toBe(1);
  });

  it('are looked for again when a new one signs, and by unknown names no more often than every five seconds', async () => {
    const one = issuers();
    await resolve(await provider.token(), one);
    const before = provider.asked('/jwks');
    const key = await signingKey('dos');
    provider.keys = [provider.key, key];
    expect(await resolve(await provider.token({}, { key }), one)).toEqual(INVALID);
    now += 5_000;
    expect(await resolve(await provider.token({}, { key }), one)).toMatchObject({ ok: true });
    for (let n = 0; n < 30; n += 1)
      expect(await resolve(await provider.token({}, { header: { kid: `inventado-${n}` } }), one)).toEqual(INVALID);
    expect(provider.asked('/jwks') - before).toBe(1);
  });

  it('that have gone are not trusted any longer, nor is what they have signed', async () => {
    const one = issuers();
    const token = await provider.token({ exp: seconds() + 3_000 });
    expect(await resolve(token, one)).toMatchObject({ ok: true });
    const key = await signingKey('tres');
    provider.keys = [key];
    now += 6_000;
    expect(await resolve(await provider.token({}, { key }), one)).toMatchObject({ ok: true });
    expect(await resolve(token, one)).toEqual(INVALID);
  });

  it.each(['discovery', 'jwks'] as const)(
    'when the %s is down recognise nobody; asked again after a pause',
    async (what) => {
      const one = issuers();
      provider.down = { [what]: 503 };
      const token = await provider.token();
      const before = provider.server.requests.length;
      for (let n = 0; n < 10; n += 1) expect(await resolve(token, one)).toEqual(INVALID);
      expect(provider.server.requests.length - before).toBeLessThanOrEqual(2);
      expect(logged).toEqual(['identity_provider_unusable']);
      provider.down = {};
      expect(await resolve(token, one)).toEqual(INVALID);
      now += 5_000;
      expect(await resolve(token, one)).toMatchObject({ ok: true });
      expect(logged).toContain('identity_provider_recovered');
    },
  );

  it('are not used when they are too old and cannot be had again', async () => {
    const one = issuers();
    expect(await resolve(await provider.token(), one)).toMatchObject({ ok: true });
    provider.down = { jwks: 500 };
    now += 601_000;
    expect(await resolve(await provider.token({ exp: seconds() + 300 }), one)).toEqual(INVALID);
  });

  it.each([
    ['redirects', (url: string) => ({ status: 302, headers: { location: `${url}/jwks` }, body: '' })],
    ['sends megabytes', () => ({ status: 200, headers: {}, body: `{"keys":[],"x":"${'x'.repeat(300_000)}"}` })],
    [
      'keeps its keys behind plain http elsewhere',
      (url: string) => ({
        status: 200,
        headers: {},
        body: JSON.stringify({ issuer: url, jwks_uri: 'http://keys.example.com/jwks' }),
      }),
    ],
  ])('are not taken from a provider that %s', async (_, answer) => {
    const bad = await startHttpServer((_request, response) => {
      const { status, headers, body } = answer(provider.server.url);
      response.writeHead(status, headers as Record<string, string>);
      response.end(body);
    });
    const one = issuers(issuer({ discovery: `${bad.url}/.well-known/openid-configuration` }));
    expect(await resolve(await provider.token(), one)).toEqual(INVALID);
    expect(logged).toEqual(['identity_provider_unusable']);
    await bad.close();
  });
});

describe('tokens that were verified', () => {
  it('are not verified again, and never trusted beyond their end', async () => {
    const one = issuers();
    const token = await provider.token({ exp: seconds() + 20 });
    expect(await resolve(token, one)).toMatchObject({ ok: true });
    provider.keys = [];
    now += 19_000;
    expect(await resolve(token, one)).toMatchObject({ ok: true });
    now += 1_500;
    expect(await resolve(token, one)).toEqual(EXPIRED);
  });

  it('are looked at again after a minute', async () => {
    const one = issuers();
    const token = await provider.token({ exp: seconds() + 3_000 });
    await resolve(token, one);
    provider.down = { jwks: 500 };
    now += 700_000;
    expect(await resolve(token, one)).toEqual(INVALID);
  });
});

describe('several providers', () => {
  it('are told apart by who a token says it is from; one that is down takes no other with it', async () => {
    const other = await IdentityProvider.start();
    const both = issuers(issuer(), issuer({ id: 'socios', discovery: other.discovery, audience: 'socios' }));
    expect(await resolve(await other.token({ aud: 'socios' }), both)).toMatchObject({
      ok: true,
      principal: { issuer: 'socios' },
    });
    expect(await resolve(await provider.token({ aud: 'socios' }), both)).toEqual(INVALID);
    expect(await resolve(await other.token({ aud: 'mcp-corp' }), both)).toEqual(INVALID);
    // With the name of the one and the key of the other.
    expect(await resolve(await other.token({ iss: provider.issuer }), both)).toEqual(INVALID);
    await other.close();
    now += 3_700_000;
    const exp = seconds() + 300;
    expect(await resolve(await provider.token({ exp }), both)).toMatchObject({
      ok: true,
      principal: { issuer: 'personal' },
    });
  });

  it('of one name are told apart by the audience, and a token for both is nobody’s', async () => {
    const both = issuers(issuer(), issuer({ id: 'lotes', audience: 'lotes' }));
    expect(await resolve(await provider.token({ aud: 'lotes' }), both)).toMatchObject({
      ok: true,
      principal: { issuer: 'lotes' },
    });
    expect(await resolve(await provider.token({ aud: ['lotes', 'mcp-corp'] }), both)).toEqual(INVALID);
    expect(logged).toContain('token_shared');
  });

  it('are what clients are sent to, also while they are down', async () => {
    provider.issuer = 'https://publico.example.com';
    expect(await issuers().authorizationServers()).toEqual(['https://publico.example.com']);
    provider.down = { discovery: 503 };
    expect(await issuers().authorizationServers()).toEqual([provider.server.url]);
  });
});

it('a caller who leaves does not wait for the provider', async () => {
  const mute = await startHttpServer(() => undefined);
  const leaving = new AbortController();
  const one = issuers(issuer({ discovery: `${mute.url}/.well-known/openid-configuration` }));
  const waiting = one.resolve(await provider.token(), leaving.signal);
  leaving.abort(new Error('left'));
  await expect(waiting).rejects.toThrow('left');
  await mute.close();
});
