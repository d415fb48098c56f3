import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { type RequestListener } from 'node:http';
import { SourceResolver } from '../../../../src/connectors/source-resolver.js';
import { OperationTimeoutError, SaturatedError, SourceUnavailableError } from '../../../../src/resilience/errors.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { startHttpServer, type TestServer } from '../../../support/http-server.js';
import { until } from '../../../support/until.js';
import { apiAt, executorOf, failureOf, get, openOnOurSide, patient } from './support.js';

/** The reference's HTTP cases (spec §10), and what architecture §5 adds to them. */
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function serve(handler: RequestListener): Promise<TestServer> {
  const server = await startHttpServer(handler);
  closing.push(() => server.close());
  return server;
}

function connectTo(...where: Parameters<typeof apiAt>): ReturnType<typeof apiAt> {
  const api = apiAt(...where);
  closing.push(() => api.connector.close());
  return api;
}

const answering =
  (status: number, body = '{}', headers: Record<string, string> = {}): RequestListener =>
  (_request, response) => {
    response.writeHead(status, headers).end(body);
  };

const signal = (): AbortSignal => new AbortController().signal;

describe('HttpConnector', () => {
  it('is healthy when the source answers 200', async () => {
    const server = await serve(answering(200));
    expect(await connectTo(server.url).connector.health(signal())).toBe(true);
    expect(server.requests).toMatchObject([{ method: 'GET', path: '/health' }]);
  });

  it.each([204, 302, 401, 404, 500, 503])('is unhealthy when the source answers %i', async (status) => {
    const server = await serve(answering(status, ''));
    const { connector, log } = connectTo(server.url);
    expect(await connector.health(signal())).toBe(false);
    expect(log.lines).toEqual([
      {
        level: 'WARNING',
        event: 'connector_health_check_failed',
        fields: { source: 'api', error: 'HttpStatusError', code: `HTTP_${status}` },
      },
    ]);
  });

  it('is unhealthy when nobody listens', async () => {
    const server = await serve(answering(200));
    await server.close();
    const { connector, log } = connectTo(server.url);
    expect(await connector.health(signal())).toBe(false);
    expect(log.lines[0]?.fields).toEqual({ source: 'api', error: 'HttpTransportError', code: 'ECONNREFUSED' });
  });

  it('works before connect, because "not connected" is not a state', async () => {
    const server = await serve(answering(200, '{"a":1}'));
    expect(await get(connectTo(server.url).connector, 'cosas', '1')).toEqual({ status: 200, body: { a: 1 } });
  });

  it('warms up one connection that the first operation then uses', async () => {
    const server = await serve(answering(200));
    const { connector, log } = connectTo(server.url);
    await connector.connect(signal());
    await get(connector, 'cosas');
    expect(server.connections).toBe(1);
    expect(log.named('connector_http_client_opened')).toHaveLength(1);
  });

  it.each([
    ['three seconds', {}, 3000],
    ['the time of an operation, when that is less', { operationTimeoutSeconds: 1, requestTimeoutSeconds: 60 }, 1000],
    ['the time of a request, when that is less', { requestTimeoutSeconds: 0.5 }, 500],
  ])('waits for a source that says nothing at start, or is asked how it is, for %s', async (_what, values, limitMs) => {
    const clock = new FakeClock();
    const server = await serve(() => undefined);
    const { connector } = connectTo(server.url, values, { clock });
    const asked = [failureOf(connector.connect(signal())), connector.health(signal())] as const;
    await until(() => server.requests.length === 2);
    const settled = jest.fn();
    for (const answer of asked) void answer.then(settled);
    await clock.advance(limitMs - 1);
    expect(settled).not.toHaveBeenCalled();
    await clock.advance(1);
    expect(await Promise.all(asked)).toEqual([expect.objectContaining({ code: 'ETIMEDOUT' }), false]);
  });

  it('rejects connect when the source is down or not well', async () => {
    const server = await serve(answering(503));
    expect(await failureOf(connectTo(server.url).connector.connect(signal()))).toMatchObject({ code: 'HTTP_503' });
    await server.close();
    expect(await failureOf(connectTo(server.url).connector.connect(signal()))).toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('is the operation that decides what comes back', async () => {
    const server = await serve(answering(200));
    expect(await connectTo(server.url).connector.run(async () => 'lo que sea', patient())).toBe('lo que sea');
  });

  it('keeps a path prefix of the base URL and encodes each segment', async () => {
    const server = await serve(answering(200));
    const { connector } = connectTo(`${server.url}/api/v1/`);
    await get(connector, 'saldos', 'V1/../x?y=1#z %ñ');
    await connector.health(signal());
    expect(server.requests.map(({ path }) => path)).toEqual([
      '/api/v1/saldos/V1%2F..%2Fx%3Fy%3D1%23z%20%25%C3%B1',
      '/api/v1/health',
    ]);
  });

  it('sends nothing for a segment that could climb out of the path', async () => {
    const server = await serve(answering(200));
    const { connector } = connectTo(server.url);
    for (const segment of ['', '.', '..']) {
      const error = await failureOf(get(connector, 'saldos', segment));
      expect(connector.classify(error)).toEqual({ kind: 'bug' });
    }
    expect(server.requests).toEqual([]);
  });

  it.each([
    [{ bearerToken: 'ficha-de-prueba' }, 'authorization', 'Bearer ficha-de-prueba'],
    [{ apiKey: 'clave-de-prueba' }, 'x-api-key', 'clave-de-prueba'],
    [{ apiKey: 'clave-de-prueba', apiKeyHeader: 'Ocp-Key' }, 'ocp-key', 'clave-de-prueba'],
  ])('presents its credentials %j', async (values, header, value) => {
    const server = await serve(answering(200));
    await get(connectTo(server.url, values).connector, 'cosas');
    expect(server.requests[0]?.headers[header]).toBe(value);
  });

  it('asks for JSON, uncompressed, without credentials when it has none', async () => {
    const server = await serve(answering(200));
    await get(connectTo(server.url).connector, 'cosas');
    expect(server.requests[0]?.headers).toMatchObject({ accept: 'application/json', 'accept-encoding': 'identity' });
    expect(server.requests[0]?.headers).not.toHaveProperty('authorization');
  });

  it('does not follow redirects', async () => {
    const other = await serve(answering(200));
    const server = await serve(answering(302, '', { Location: `${other.url}/saldos/1` }));
    expect(await failureOf(get(connectTo(server.url).connector, 'saldos', '1'))).toMatchObject({ code: 'HTTP_302' });
    expect(other.requests).toEqual([]);
  });

  it('ignores the proxy variables of the environment', async () => {
    const proxy = await serve(answering(200));
    const server = await serve(answering(200));
    const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy'];
    const before = names.map((name) => process.env[name]);
    for (const name of names) process.env[name] = proxy.url;
    try {
      await get(connectTo(server.url).connector, 'cosas');
    } finally {
      names.forEach((name, index) => {
        const value = before[index];
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      });
    }
    expect(proxy.connections).toBe(0);
    expect(server.requests).toHaveLength(1);
  });

  it("asks the source's own resolver", async () => {
    const server = await serve(answering(200));
    const asked: string[] = [];
    const resolver = new SourceResolver({
      ask: async (hostname) => (asked.push(hostname), [{ address: '127.0.0.1', family: 4 }]),
    });
    const { connector } = connectTo(`http://api.example:${server.port}`, {}, { resolver });
    await get(connector, 'cosas');
    expect(asked).toEqual(['api.example']);
    expect(server.requests[0]?.headers.host).toBe(`api.example:${server.port}`);
  });

  it('sends nothing more once it is closed, and closes twice like once', async () => {
    const server = await serve(answering(200));
    const { connector, log } = connectTo(server.url);
    await get(connector, 'cosas');
    await connector.close();
    await connector.close();
    await server.idle();
    expect(await failureOf(get(connector, 'cosas'))).toMatchObject({ code: 'CANCELLED' });
    expect(await connector.health(signal())).toBe(false);
    expect(server.requests).toHaveLength(1);
    expect(log.named('connector_http_client_closed')).toHaveLength(1);
  });

  it('ends what is under way when it is closed', async () => {
    const server = await serve(() => undefined);
    const { connector } = connectTo(server.url);
    const pending = failureOf(get(connector, 'cosas'));
    while (server.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await connector.close();
    expect(await pending).toMatchObject({ code: 'CANCELLED' });
    await server.idle();
  });
});

describe('HttpConnector under its executor', () => {
  it('answers a slow call with a timeout', async () => {
    const server = await serve(() => undefined);
    const executor = executorOf(connectTo(server.url, { operationTimeoutSeconds: 0.05 }));
    const call = executor.run((exchange) => exchange.getJson(['lento']), { signal: signal() });
    expect(await failureOf(call)).toBeInstanceOf(OperationTimeoutError);
    await executor.close();
    await server.idle();
  });

  it('never has more live requests than slots', async () => {
    let live = 0;
    let most = 0;
    const server = await serve((_request, response) => {
      live += 1;
      most = Math.max(most, live);
      setImmediate(() => {
        live -= 1;
        response.end('{}');
      });
    });
    const executor = executorOf(connectTo(server.url, { maxConcurrency: 3 }));
    const call = (): Promise<unknown> => executor.run((exchange) => exchange.getJson(['a']), { signal: signal() });
    await Promise.all(Array.from({ length: 30 }, call));
    expect(most).toBeLessThanOrEqual(3);
    expect(server.connections).toBeLessThanOrEqual(3);
    await executor.close();
  });

  it('never has more open requests and sockets than slots while every call times out', async () => {
    const server = await serve(() => undefined);
    const api = connectTo(server.url, {
      maxConcurrency: 4,
      operationTimeoutSeconds: 0.02,
      acquireTimeoutSeconds: 60,
      callDeadlineSeconds: 60,
      maxQueue: 1000,
      circuitFailureThreshold: 1000,
    });
    const executor = executorOf(api);
    const requests = openOnOurSide('http.client.request.start', 'request');
    const sockets = openOnOurSide('net.client.socket', 'socket');
    const call = (): Promise<unknown> => failureOf(executor.run((e) => e.getJson(['a']), { signal: signal() }));
    const errors = await Promise.all(Array.from({ length: 100 }, call));
    await executor.close();
    expect(requests.stop()).toEqual({ seen: 100, most: 4, left: 0 });
    expect(sockets.stop()).toEqual({ seen: 100, most: 4, left: 0 });
    for (const error of errors) expect(error).toBeInstanceOf(OperationTimeoutError);
    await server.idle();
  });

  it('refuses cleanly when it is saturated', async () => {
    const server = await serve(() => undefined);
    const executor = executorOf(connectTo(server.url, { maxConcurrency: 1, acquireTimeoutSeconds: 0.05 }));
    const leaving = new AbortController();
    const first = failureOf(executor.run((exchange) => exchange.getJson(['a']), { signal: leaving.signal }));
    const second = executor.run((exchange) => exchange.getJson(['b']), { signal: signal() });
    expect(await failureOf(second)).toBeInstanceOf(SaturatedError);
    leaving.abort();
    await first;
    expect(executor.state).toBe('closed');
    await executor.close();
  });

  it('opens its circuit on transport failures', async () => {
    const server = await serve(answering(200));
    await server.close();
    const executor = executorOf(connectTo(server.url, { circuitFailureThreshold: 2 }));
    const call = (): Promise<unknown> => executor.run((exchange) => exchange.getJson(['a']), { signal: signal() });
    expect(await failureOf(call())).toBeInstanceOf(SourceUnavailableError);
    expect(executor.state).toBe('closed');
    await failureOf(call());
    expect(executor.state).toBe('open');
    await executor.close();
  });

  it('opens its circuit on 5xx', async () => {
    const server = await serve(answering(500));
    const executor = executorOf(connectTo(server.url, { circuitFailureThreshold: 1 }));
    await failureOf(executor.run((exchange) => exchange.getJson(['a']), { signal: signal() }));
    expect(executor.state).toBe('open');
    await executor.close();
  });
});
