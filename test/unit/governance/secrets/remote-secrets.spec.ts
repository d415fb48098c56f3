import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { accountId } from '../../../../src/governance/core/index.js';
import { AccountCredentials } from '../../../../src/governance/secrets/account-credentials.js';
import { oauthReference } from '../../../../src/governance/secrets/oauth-reference.js';
import { accountSecrets, issuerSecrets } from '../../../../src/governance/secrets/schemes.js';
import { startHttpServer, type TestServer } from '../../../support/http-server.js';

const { signal } = new AbortController();
interface Answer {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body: unknown;
}

let server: TestServer;
let answer: (path: string, form: URLSearchParams) => Answer | undefined;
let bodies: URLSearchParams[];
let now: number;
let env: Record<string, string>;
const logged: [string, unknown][] = [];
const log = {
  debug: () => undefined,
  info: () => undefined,
  error: () => undefined,
  warning: (event: string, fields?: object) => void logged.push([event, fields]),
};

beforeEach(async () => {
  bodies = [];
  now = 1_000_000;
  logged.length = 0;
  server = await startHttpServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const form = new URLSearchParams(text);
      bodies.push(form);
      const found = answer(request.url ?? '', form);
      if (found === undefined) return;
      response.writeHead(found.status ?? 200, { 'content-type': 'application/json', ...found.headers });
      response.end(typeof found.body === 'string' ? found.body : JSON.stringify(found.body));
    });
  });
  env = { VAULT_ADDR: server.url, VAULT_TOKEN: 'SENTINELA-vault', CLIENTE: 'SENTINELA:/+ñ' };
});
afterEach(() => server.close());

const parts = () => ({
  settings: { vaultAddress: undefined, vaultToken: 'env://VAULT_TOKEN' },
  ...{ now: () => now, log },
  environment: (name: string) => env[name],
});
const read = (reference: string, secrets = accountSecrets(parts())) => secrets.read(reference, signal);
const kv = (data: unknown): Answer => ({ body: { data: { data, metadata: { version: 3 } } } });

/** What went wrong, having looked that nothing of it is told. */
async function problemOf(reference: string): Promise<string> {
  const error = (await read(reference).catch((thrown: Error) => thrown)) as Error & { problem: string };
  expect(JSON.stringify([error, error.message, error.stack, logged])).not.toMatch(/SENTINELA|sentinela|127\.0\.0\.1/);
  return error.problem;
}

describe('a secret in Vault', () => {
  it('is one field of one secret of KV version 2, asked for with the token', async () => {
    answer = () => kv({ value: 'uno', clave: ' dos\n' });
    expect(await read('vault://kv/gw/lector')).toBe('uno');
    expect(await read('vault://kv/gw/lector de noche#clave')).toBe('dos');
    expect(server.requests.map(({ method, path, headers }) => [method, path, headers['x-vault-token']])).toEqual([
      ['GET', '/v1/kv/data/gw/lector', 'SENTINELA-vault'],
      ['GET', '/v1/kv/data/gw/lector%20de%20noche', 'SENTINELA-vault'],
    ]);
  });

  it('is the new one from the next call on, and so is the token; many at a time are one question', async () => {
    const secrets = accountSecrets(parts());
    answer = () => kv({ value: 'uno' });
    expect(await Promise.all(Array.from({ length: 20 }, () => read('vault://kv/a', secrets)))).toEqual(
      Array.from({ length: 20 }, () => 'uno'),
    );
    expect(server.requests).toHaveLength(1);
    answer = () => kv({ value: 'dos' });
    env['VAULT_TOKEN'] = 'otro';
    expect(await read('vault://kv/a', secrets)).toBe('dos');
    expect(server.requests.at(-1)?.headers['x-vault-token']).toBe('otro');
  });

  it.each([
    ['the token is refused', { status: 403, body: {} }, 'refused'],
    ['there is none', { status: 404, body: { errors: [] } }, 'absent'],
    ['its field is missing', kv({ otro: 'x' }), 'absent'],
    ['its field is inherited', kv({}), 'absent', '#toString'],
    ['its field is no text', kv({ value: { a: 1 } }), 'unreadable'],
    ['it was deleted', { body: { data: null } }, 'absent'],
    ['Vault is sealed', { status: 503, body: { errors: ['sealed'] } }, 'unreadable'],
    ['the answer is no JSON', { body: '<html>' }, 'unreadable'],
    ['the answer has no end', { body: 'x'.repeat(300_000) }, 'unreachable'],
    ['the answer is a redirect', { status: 307, headers: { location: '/v1/otro' }, body: '' }, 'unreadable'],
  ] as [string, Answer, string, string?][])('cannot be had when %s', async (_, given, problem, field = '') => {
    answer = () => given;
    expect(await problemOf(`vault://kv/sentinela${field}`)).toBe(problem);
    expect(server.requests).toHaveLength(1);
  });

  it.each(['vault://kv', 'vault://kv/', 'vault://kv/a/../../sys/seal', 'vault:///a', 'vault://kv//a'])(
    'is not asked for as %s',
    async (reference) => {
      expect(await problemOf(reference)).toBe('unreadable');
      expect(server.requests).toHaveLength(0);
    },
  );

  it('is asked for nowhere without an address or a token, and never over plain http elsewhere', async () => {
    for (const change of [{ VAULT_ADDR: '' }, { VAULT_TOKEN: '' }, { VAULT_ADDR: 'http://vault.example.com' }]) {
      env = Object.fromEntries(Object.entries({ ...env, ...change }).filter(([, value]) => value !== ''));
      expect(await problemOf('vault://kv/sentinela')).toBe('unreadable');
      env = { VAULT_ADDR: server.url, VAULT_TOKEN: 'SENTINELA-vault' };
    }
    expect(server.requests).toHaveLength(0);
  });

  it('that is the key of an issuer is remembered for five seconds: outsiders cannot hammer the store', async () => {
    const secrets = issuerSecrets(parts());
    answer = () => kv({ value: 'llave' });
    for (let n = 0; n < 50; n += 1) expect(await read('vault://kv/llave', secrets)).toBe('llave');
    expect(server.requests).toHaveLength(1);
    now += 5_000;
    answer = () => kv({ value: 'nueva' });
    expect(await read('vault://kv/llave', secrets)).toBe('nueva');
    await expect(read('oauth+https://id.example.com/t?client=a&secret=env://CLIENTE', secrets)).rejects.toThrow(
      'unknown_scheme',
    );
  });
});

describe('a token that a client of its own gets', () => {
  const reference = (more = '') => `oauth+${server.url}/token?client=gw&secret=env://CLIENTE${more}`;
  const token = (text: string, seconds?: number): Answer => ({
    body: { access_token: text, token_type: 'Bearer', ...(seconds !== undefined && { expires_in: seconds }) },
  });

  it('is asked for with the client credentials, by Basic or in the body', async () => {
    answer = () => token('t1', 300);
    expect(await read(reference('&scope=a+b%20c'))).toBe('t1');
    expect(Object.fromEntries(bodies[0] ?? [])).toEqual({ grant_type: 'client_credentials', scope: 'a+b c' });
    const basic = Buffer.from(String(server.requests[0]?.headers.authorization).slice('Basic '.length), 'base64');
    expect(basic.toString()).toBe('gw:SENTINELA%3A%2F%2B%C3%B1');
    expect(await read(reference('&auth=post&audience=x'))).toBe('t1');
    expect(Object.fromEntries(bodies[1] ?? [])).toEqual({
      ...{ grant_type: 'client_credentials', audience: 'x', client_id: 'gw', client_secret: 'SENTINELA:/+ñ' },
    });
    expect(server.requests[1]?.headers.authorization).toBeUndefined();
  });

  it('is kept until a minute before its end, then another one; the epoch of its account changes with it', async () => {
    const credentials = new AccountCredentials(accountSecrets(parts()));
    const resolve = () => credentials.resolve(accountId('bot'), reference(), signal);
    answer = () => token(`t${server.requests.length}`, 300);
    const first = await resolve();
    now += 239_999;
    expect(await resolve()).toEqual(first);
    now += 1;
    const second = await resolve();
    expect([first.secret, second.secret]).toEqual(['t1', 't2']);
    expect(second.epoch).not.toBe(first.epoch);
  });

  it('is one question however many wait for it', async () => {
    const secrets = accountSecrets(parts());
    answer = () => token('t', 300);
    await Promise.all(Array.from({ length: 50 }, () => read(reference(), secrets)));
    expect(server.requests).toHaveLength(1);
  });

  it.each([[undefined], [60], [0]])('that ends in %s seconds is used once', async (seconds) => {
    const secrets = accountSecrets(parts());
    answer = () => token(`t${server.requests.length}`, seconds);
    expect([await read(reference(), secrets), await read(reference(), secrets)]).toEqual(['t1', 't2']);
  });

  it.each([
    ['the client is refused', { status: 401, body: { error: 'invalid_client' } }, 'refused'],
    ['the request is refused', { status: 400, body: { error: 'invalid_scope' } }, 'refused'],
    ['the endpoint is broken', { status: 500, body: 'x' }, 'unreadable'],
    ['the endpoint redirects', { status: 302, headers: { location: '/otro' }, body: '' }, 'unreadable'],
    ['there is no token', { body: { token_type: 'Bearer' } }, 'unreadable'],
    ['the token would break a header', { body: { access_token: 'a\r\nb: c' } }, 'unreadable'],
    ['it is bound to a key', { body: { access_token: 'a', token_type: 'DPoP' } }, 'unreadable'],
    ['the answer is no JSON', { body: '<' }, 'unreadable'],
    ['the answer has no end', { body: 'x'.repeat(70_000) }, 'unreachable'],
  ] as [string, Answer, string][])('cannot be had when %s', async (_, given, problem) => {
    answer = () => given;
    expect(await problemOf(reference())).toBe(problem);
    expect(server.requests).toHaveLength(1);
  });

  it('may have its own secret in Vault, and is not asked for without it', async () => {
    answer = (path) => (path.startsWith('/v1/') ? kv({ k: 'de-vault' }) : token('t', 300));
    expect(await read(`oauth+${server.url}/token?client=gw&secret=vault://kv/gw#k&auth=post`)).toBe('t');
    expect(bodies.at(-1)?.get('client_secret')).toBe('de-vault');
    const before = server.requests.length;
    expect(await problemOf(`oauth+${server.url}/token?client=gw&secret=env://NADIE`)).toBe('unreadable');
    expect(server.requests).toHaveLength(before);
  });

  it.each([
    'id.example.com/token',
    'id.example.com/token?client=a',
    'id.example.com/token?secret=env://A',
    'id.example.com/token?client=a&client=b&secret=env://A',
    'id.example.com/token?client=a&secret=env://A&otra=x',
    'id.example.com/token?client=a&secret=env://A&auth=x',
    'id.example.com/token?client=a&secret=oauth+https://x/y?client=a',
    'id.example.com/token?client=%FF&secret=env://A',
  ])('has no reference of the form %s', (rest) => {
    expect(oauthReference('https', rest)).toBeUndefined();
  });

  it('is never asked for over plain http elsewhere', async () => {
    expect(await problemOf('oauth+http://id.example.com/sentinela?client=a&secret=env://CLIENTE')).toBe('unreachable');
  });
});
