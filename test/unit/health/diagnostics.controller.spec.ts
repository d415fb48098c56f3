import { afterEach, describe, expect, it } from '@jest/globals';
import type { SourceDiagnostics } from '../../../src/connectors/connector-registry.js';
import { startApp, type App, type AppSketch } from './app.js';

const TOKEN = 'token-de-prueba-0123456789';
const entry = { source: 'postgres', circuit_state: 'closed', healthy: true, pool: {} } as unknown as SourceDiagnostics;
const registry = { diagnostics: () => Promise.resolve({ postgres: entry }) };
const BODY = { connectors: { postgres: entry } };

let app: App;
const start = async (sketch: AppSketch) => (app = await startApp({ registry, ...sketch }));
afterEach(() => app.close());

describe('/diagnostics', () => {
  it.each(['local', 'staging'] as const)('is open in %s without a token', async (environment) => {
    await start({ environment });
    const { status, body, headers } = await app.get('/diagnostics');
    expect(status).toBe(200);
    expect(JSON.parse(body)).toEqual(BODY);
    expect(headers['cache-control']).toBe('no-store');
  });

  it('shows an empty object when there are no sources', async () => {
    await start({ registry: { diagnostics: () => Promise.resolve({}) } });
    expect((await app.get('/diagnostics')).body).toBe('{"connectors":{}}');
  });

  it('does not exist in production without a token', async () => {
    await start({ environment: 'production' });
    const [off, nowhere] = [await app.get('/diagnostics'), await app.get('/no-such-route')];
    expect(off.status).toBe(404);
    expect(off.body.replace('/diagnostics', '/no-such-route')).toBe(nowhere.body);
    expect((await app.get('/diagnostics', { authorization: `Bearer ${TOKEN}` })).status).toBe(404);
  });

  it.each(['local', 'production'] as const)('wants its token in %s once it has one', async (environment) => {
    await start({ environment, token: TOKEN });
    const { status, body } = await app.get('/diagnostics', { authorization: `Bearer ${TOKEN}` });
    expect(status).toBe(200);
    expect(JSON.parse(body)).toEqual(BODY);
    expect((await app.get('/diagnostics', { authorization: `bearer ${TOKEN}` })).status).toBe(200);
  });

  it.each([
    ['no header', undefined],
    ['another token', `Bearer ${TOKEN}x`],
    ['the beginning of the token', `Bearer ${TOKEN.slice(0, -1)}`],
    ['another scheme', `Basic ${TOKEN}`],
    ['the bare token', TOKEN],
    ['an empty token', 'Bearer '],
    ['two tokens', `Bearer ${TOKEN} ${TOKEN}`],
  ])('answers %s with 401 and no hint', async (_what, authorization) => {
    let asked = 0;
    await start({
      environment: 'production',
      token: TOKEN,
      registry: { diagnostics: () => Promise.resolve({ asked: ++asked } as never) },
    });
    const { status, body, headers } = await app.get(
      '/diagnostics',
      authorization === undefined ? {} : { authorization },
    );
    expect(status).toBe(401);
    expect(headers['www-authenticate']).toBe('Bearer');
    expect(JSON.parse(body)).toEqual({ message: 'Unauthorized', statusCode: 401 });
    expect(asked).toBe(0);
  });
});
