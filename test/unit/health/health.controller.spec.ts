import { afterEach, describe, expect, it } from '@jest/globals';
import { startApp, type App, type AppSketch } from './app.js';

let app: App;
const start = async (sketch?: AppSketch) => (app = await startApp(sketch));
afterEach(() => app.close());

describe('/health and /ready', () => {
  it('say in every state exactly what the reference says', async () => {
    await start({ serviceName: 'mcp-demo' });
    const both = async () =>
      [await app.get('/health'), await app.get('/ready')].map(({ status, body }) => [status, body]);
    const healthy = [200, '{"status":"ok","service":"mcp-demo"}'];
    const notReady = [503, '{"status":"not_ready","service":"mcp-demo"}'];
    expect(await both()).toEqual([healthy, notReady]);
    app.lifecycle.started();
    expect(await both()).toEqual([healthy, [200, '{"status":"ready","service":"mcp-demo"}']]);
    app.lifecycle.stopping();
    expect(await both()).toEqual([healthy, notReady]);
  });

  it('are JSON and not for caches', async () => {
    await start();
    for (const path of ['/health', '/ready']) {
      const { headers } = await app.get(path);
      expect(headers['content-type']).toMatch(/^application\/json/);
      expect(headers['cache-control']).toContain('no-store');
    }
  });

  it('log nothing, however often /ready is 503', async () => {
    await start();
    for (let i = 0; i < 20; i += 1) await app.get('/ready');
    expect(app.written).toEqual([]);
  });

  it('do not take terminus’s word for shutting down, which is late and would spoil /health', async () => {
    const answers: number[] = [];
    const ask = async () => {
      answers.push((await app.get('/health')).status, (await app.get('/ready')).status);
    };
    // Nest calls it last of all, after terminus has been told and before the server stops listening.
    await start({ beforeShutdown: ask });
    app.lifecycle.started();
    await app.close();
    expect(answers).toEqual([200, 200]);
  });

  it('answer 1,000 probes quickly while every source hangs', async () => {
    const hangs = new Promise<never>(() => undefined);
    await start({ registry: { diagnostics: () => hangs } });
    app.lifecycle.started();
    const asking = Array.from({ length: 4 }, () => app.get('/diagnostics').catch(() => undefined));
    const times: number[] = [];
    for (let i = 0; i < 1_000; i += 1) {
      const began = performance.now();
      expect((await app.get('/ready')).status).toBe(200);
      times.push(performance.now() - began);
    }
    times.sort((a, b) => a - b);
    expect(times[989]).toBeLessThan(250);
    app.nest.getHttpServer().closeAllConnections();
    await Promise.all(asking);
  });
});
