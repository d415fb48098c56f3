import { afterEach, describe, expect, it } from '@jest/globals';
import { type RequestListener } from 'node:http';
import { type Socket } from 'node:net';
import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import {
  HttpCancelledError,
  HttpStatusError,
  HttpTransportError,
  MalformedBodyError,
} from '../../../../src/connectors/http/http-errors.js';
import { SourceResolver } from '../../../../src/connectors/source-resolver.js';
import {
  OperationTimeoutError,
  RateLimitedError,
  RejectedError,
  SourceUnavailableError,
} from '../../../../src/resilience/errors.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { startHttpServer, startRawServer, type TestServer } from '../../../support/http-server.js';
import { apiAt, executorOf, failureOf, get, openOnOurSide, patient } from './support.js';

/** Law 6 and architecture §5: what each way of failing means, and that none of them takes longer than the deadline. */
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function serve(handler: RequestListener): Promise<TestServer> {
  const server = await startHttpServer(handler);
  closing.push(() => server.close());
  return server;
}

async function serveRaw(onSocket: (socket: Socket) => void): Promise<TestServer> {
  const server = await startRawServer(onSocket);
  closing.push(() => server.close());
  return server;
}

function connectTo(...where: Parameters<typeof apiAt>): ReturnType<typeof apiAt> {
  const api = apiAt(...where);
  closing.push(() => api.connector.close());
  return api;
}

const NOW = Date.UTC(2026, 10, 30, 12, 0, 0);
const signal = (): AbortSignal => new AbortController().signal;

const saying =
  (status: number, headers: Record<string, string> = {}): RequestListener =>
  (_request, response) => {
    response.writeHead(status, headers).end('{"error":"x"}');
  };

async function failureAt(url: string, values = {}): Promise<{ error: unknown; failure: unknown }> {
  const { connector } = connectTo(url, values, { wallClock: () => NOW });
  const error = await failureOf(get(connector, 'saldos', 'V16760320'));
  return { error, failure: connector.classify(error) };
}

describe('an answer with a status', () => {
  it.each([
    [300, { kind: 'rejected' }],
    [301, { kind: 'rejected' }],
    [304, { kind: 'rejected' }],
    [400, { kind: 'rejected' }],
    [401, { kind: 'rejected' }],
    [403, { kind: 'rejected' }],
    [405, { kind: 'rejected' }],
    [410, { kind: 'rejected' }],
    [422, { kind: 'rejected' }],
    [408, { kind: 'infrastructure' }],
    [500, { kind: 'infrastructure' }],
    [502, { kind: 'infrastructure' }],
    [503, { kind: 'infrastructure' }],
    [504, { kind: 'infrastructure' }],
    [599, { kind: 'infrastructure' }],
    [429, { kind: 'answered', throttled: true, retryAfterSeconds: 1 }],
  ])('%i is %j', async (status, expected) => {
    const { error, failure } = await failureAt((await serve(saying(status))).url);
    expect(error).toBeInstanceOf(HttpStatusError);
    expect(failure).toEqual(expected);
  });

  it.each([
    [429, '7', 7],
    [429, '0', 0],
    [429, '31', 30],
    [429, 'Mon, 30 Nov 2026 12:00:12 GMT', 12],
    [429, 'Mon, 30 Nov 2026 13:00:00 GMT', 30],
    [429, 'mañana', 1],
    [503, '45', 45],
    [503, 'Mon, 30 Nov 2026 12:01:00 GMT', 60],
    [503, '999999', 3600],
    [503, 'mañana', undefined],
  ])('%i with Retry-After %j asks for %s s', async (status, header, seconds) => {
    const headers = { 'Retry-After': Buffer.from(header).toString('latin1') };
    const { failure } = await failureAt((await serve(saying(status, headers))).url);
    expect((failure as { retryAfterSeconds?: number }).retryAfterSeconds).toBe(seconds);
  });

  it('404 is absence: the source decides what it means', async () => {
    const { connector } = connectTo((await serve(saying(404))).url);
    expect(await get(connector, 'saldos', 'V1')).toEqual({ status: 404, body: undefined });
  });

  it.each([429, 404, 500])(
    '%i is understood although its body never ends, and the connection is given up',
    async (status) => {
      const server = await serve((_request, response) => {
        response.writeHead(status, { 'Retry-After': '3' }).write('{');
      });
      const { connector } = connectTo(server.url);
      const outcome = await get(connector, 'a').catch((error: unknown) => error);
      expect(outcome).toMatchObject({ status });
      await server.idle();
    },
  );

  it('101 without an upgrade asked for is a failure of the source and not a call that hangs', async () => {
    const server = await serveRaw((socket) => {
      socket.once('data', () =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'),
      );
    });
    const { failure } = await failureAt(server.url);
    expect(failure).toEqual({ kind: 'infrastructure', connecting: false });
  });
});

describe('no answer', () => {
  it('is a failure of connecting when nobody listens', async () => {
    const server = await serve(saying(200));
    await server.close();
    const { error, failure } = await failureAt(server.url);
    expect(error).toBeInstanceOf(HttpTransportError);
    expect(failure).toEqual({ kind: 'infrastructure', connecting: true });
  });

  it('is a failure of connecting when the name is not known', async () => {
    const resolver = new SourceResolver({ ask: async () => [] });
    const { connector } = connectTo('http://api.example', {}, { resolver });
    const error = await failureOf(get(connector, 'a'));
    expect(error).toMatchObject({ code: 'ENOTFOUND' });
    expect(connector.classify(error)).toEqual({ kind: 'infrastructure', connecting: true });
  });

  it.each([
    ['the connection is reset before a byte', (socket: Socket) => socket.resetAndDestroy()],
    ['the connection is closed before a byte', (socket: Socket) => socket.end()],
    ['the answer is not HTTP', (socket: Socket) => socket.end('SSH-2.0-OpenSSH\r\n\r\n')],
    ['the headers never stop', (socket: Socket) => socket.end(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`)],
    ['the body is cut short', (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"a":1}')],
    [
      'a chunk is cut short',
      (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{'),
    ],
    [
      'a chunk is no chunk',
      (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}'),
    ],
  ])('is infrastructure when %s, and is asked only once', async (_name, misbehave) => {
    let requests = 0;
    const server = await serveRaw((socket) => {
      socket.once('data', () => {
        requests += 1;
        misbehave(socket);
      });
    });
    const { error, failure } = await failureAt(server.url);
    expect(error).toBeInstanceOf(HttpTransportError);
    expect(failure).toEqual({ kind: 'infrastructure', connecting: false });
    expect(requests).toBe(1);
    await server.idle();
  });

  it("ends at the request's own timeout when that is shorter than the operation's", async () => {
    const server = await serve(() => undefined);
    const { error, failure } = await failureAt(server.url, { requestTimeoutSeconds: 0.05 });
    expect(error).toMatchObject({ code: 'ETIMEDOUT' });
    expect(failure).toEqual({ kind: 'infrastructure', connecting: false });
    await server.idle();
  });
});

describe('a body', () => {
  const bodies: [string, string | Buffer, string][] = [
    ['is empty', '', 'NOT_JSON'],
    ['ends too early', '{"cedula":"V16760320","saldo":15000', 'NOT_JSON'],
    ['is HTML', '<html>hola</html>', 'NOT_JSON'],
    ['is nested without end', '['.repeat(500_000), 'NOT_JSON'],
    ['is not UTF-8', Buffer.from([0x22, 0xff, 0xfe, 0x22]), 'NOT_UTF8'],
    ['is larger than the limit', `"${'x'.repeat(1_048_576)}"`, 'TOO_LARGE'],
  ];

  it.each(bodies)('that %s is a failure of the source', async (_name, body, code) => {
    const server = await serve((_request, response) => void response.end(body));
    const { error, failure } = await failureAt(server.url);
    expect(error).toBeInstanceOf(MalformedBodyError);
    expect(error).toMatchObject({ code });
    expect(failure).toEqual({ kind: 'infrastructure' });
  });

  it('is not inflated, so a small one cannot become a large one', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000, 32));
    const server = await serve((_request, response) => {
      response.writeHead(200, { 'Content-Encoding': 'gzip' }).end(bomb);
    });
    const { error } = await failureAt(server.url);
    expect(error).toMatchObject({ code: 'NOT_UTF8' });
  });

  it('may be as large as the limit', async () => {
    const server = await serve((_request, response) => void response.end(`"${'x'.repeat(1022)}"`));
    const { connector } = connectTo(server.url, { maxResponseBytes: 1024 });
    expect(await get(connector, 'a')).toMatchObject({ status: 200 });
    const smaller = connectTo(server.url, { maxResponseBytes: 1023 });
    expect(await failureOf(get(smaller.connector, 'a'))).toMatchObject({ code: 'TOO_LARGE' });
  });

  it('of 50 MB is cut at the limit, and its connection closed', async () => {
    let sent = 0;
    const server = await serve((_request, response) => {
      response.writeHead(200, { 'Content-Length': 50_000_000 });
      const chunk = Buffer.alloc(65_536, 32);
      const pour = (): void => {
        while (!response.destroyed && sent < 50_000_000 && response.write(chunk)) sent += chunk.length;
      };
      response.on('drain', pour);
      pour();
    });
    const { error } = await failureAt(server.url);
    expect(error).toMatchObject({ code: 'TOO_LARGE' });
    await server.idle();
    expect(sent).toBeLessThan(25_000_000);
  });

  it('keeps numbers that a double cannot hold as their text', async () => {
    const server = await serve((_request, response) => void response.end('{"saldo":12345678901234567890.5}'));
    const { connector } = connectTo(server.url);
    expect(await get(connector, 'a')).toEqual({ status: 200, body: { saldo: '12345678901234567890.5' } });
  });

  it('that drips byte by byte ends within the deadline', async () => {
    const server = await serve((_request, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write(' '), 5);
      response.on('close', () => clearInterval(timer));
    });
    const executor = executorOf(connectTo(server.url, { operationTimeoutSeconds: 0.1 }));
    const begun = performance.now();
    const error = await failureOf(executor.run((exchange) => exchange.getJson(['a']), { signal: signal() }));
    expect(error).toBeInstanceOf(OperationTimeoutError);
    expect(performance.now() - begun).toBeLessThan(1000);
    await server.idle();
    await executor.close();
  });
});

describe('an error', () => {
  it('holds neither the URL nor the identifier nor a credential nor a cause', async () => {
    const servers = [
      await serve(saying(500)),
      await serve((_request, response) => void response.end('no')),
      await serve((request) => void request.socket.resetAndDestroy()),
    ];
    for (const server of servers) {
      const { error } = await failureAt(server.url, { bearerToken: 'ficha-secreta' });
      const shown = inspect(error, { depth: 10, showHidden: true });
      for (const secret of ['V16760320', 'saldos', '127.0.0.1', String(server.port), 'ficha-secreta']) {
        expect(shown).not.toContain(secret);
      }
      expect(error).not.toHaveProperty('cause');
    }
  });

  it('of the program is a bug', () => {
    const { connector } = connectTo('http://127.0.0.1:1');
    for (const bug of [new TypeError('x'), new Error('x'), 'x', undefined]) {
      expect(connector.classify(bug)).toEqual({ kind: 'bug' });
    }
  });
});

describe('a connection that was closed while it was idle', () => {
  /** Answers the first request of each of the first `stale` connections and resets at the second; the rest is well. */
  function flaky(stale: number, atSecond: (socket: Socket) => void): Promise<TestServer & { seen: number }> {
    let sockets = 0;
    const counter = { seen: 0 };
    return serveRaw((socket) => {
      const isStale = (sockets += 1) <= stale;
      let requests = 0;
      socket.on('data', () => {
        counter.seen += 1;
        requests += 1;
        if (isStale && requests > 1) atSecond(socket);
        else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}');
      });
    }).then((server) =>
      Object.assign(Object.create(server) as TestServer, {
        get seen() {
          return counter.seen;
        },
      }),
    );
  }

  it.each([
    ['reset', (socket: Socket) => socket.resetAndDestroy()],
    ['closed', (socket: Socket) => socket.end()],
  ])('is replaced once when it turns out %s', async (_name, atSecond) => {
    const server = await flaky(1, (socket) => void atSecond(socket));
    const { connector } = connectTo(server.url);
    await get(connector, 'a');
    expect(await get(connector, 'a')).toEqual({ status: 200, body: {} });
    expect(server.connections).toBe(2);
  });

  it('does not make the retry meet another dead one', async () => {
    const server = await flaky(3, (socket) => void socket.resetAndDestroy());
    const { connector } = connectTo(server.url);
    await Promise.all([get(connector, 'a'), get(connector, 'b'), get(connector, 'c')]);
    expect(await get(connector, 'a')).toEqual({ status: 200, body: {} });
    expect(server.connections).toBe(4);
  });

  it('is not tried a third time', async () => {
    let requests = 0;
    const server = await serveRaw((socket) => {
      socket.on('data', () => {
        requests += 1;
        if (requests === 1) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}');
        else socket.resetAndDestroy();
      });
    });
    const { connector } = connectTo(server.url);
    await get(connector, 'a');
    expect(await failureOf(get(connector, 'a'))).toBeInstanceOf(HttpTransportError);
    expect(requests).toBe(3);
  });

  it('is not tried again when a byte of an answer had come', async () => {
    let requests = 0;
    const server = await serveRaw((socket) => {
      let own = 0;
      socket.on('data', () => {
        requests += 1;
        own += 1;
        if (own === 1) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}');
        else socket.write('HTTP/1.1 2', () => socket.end());
      });
    });
    const { connector } = connectTo(server.url);
    await get(connector, 'a');
    expect(connector.classify(await failureOf(get(connector, 'a')))).toEqual({
      kind: 'infrastructure',
      connecting: false,
    });
    expect(requests).toBe(2);
  });
});

describe('stopping', () => {
  it.each(['signal', 'kill'] as const)('%s closes the connection, and run settles only then', async (which) => {
    const server = await serve(() => undefined);
    const { connector } = connectTo(server.url);
    const controllers = { signal: new AbortController(), kill: new AbortController() };
    const run = failureOf(
      connector.run((exchange) => exchange.getJson(['a']), {
        signal: controllers.signal.signal,
        kill: controllers.kill.signal,
      }),
    );
    while (server.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    controllers[which].abort();
    expect(await run).toBeInstanceOf(HttpCancelledError);
    await server.idle();
  });

  it('kill settles run although the operation never does, and the exchange is of no use afterwards', async () => {
    const server = await serve(saying(200));
    const { connector } = connectTo(server.url);
    const kill = new AbortController();
    let late: () => Promise<unknown> = () => Promise.resolve();
    const run = failureOf(
      connector.run(
        (exchange) => {
          late = () => exchange.getJson(['tarde']);
          return new Promise<never>(() => undefined);
        },
        { signal: signal(), kill: kill.signal },
      ),
    );
    kill.abort();
    expect(await run).toBeInstanceOf(HttpCancelledError);
    expect(await failureOf(late())).toBeInstanceOf(HttpCancelledError);
    expect(server.requests).toEqual([]);
  });

  it('destroys a socket that is still looking for its address', async () => {
    let asked = (): void => undefined;
    const asking = new Promise<void>((resolve) => (asked = resolve));
    const resolver = new SourceResolver({
      ask: () => {
        asked();
        return new Promise(() => undefined);
      },
    });
    const { connector } = connectTo('http://api.example', {}, { resolver });
    const leaving = new AbortController();
    const run = failureOf(connector.run((e) => e.getJson(['a']), { signal: leaving.signal, kill: signal() }));
    await asking;
    leaving.abort();
    expect(await run).toBeInstanceOf(HttpCancelledError);
  });

  it('keeps no connection that was still being made when its request was destroyed', async () => {
    const leaving = new AbortController();
    const resolver = new SourceResolver({
      // Time stands still: the resolver's own limit must not be what closes the socket.
      clock: new FakeClock(),
      ask: () => {
        // Before Node has given the socket to its request, which it does in the next tick.
        queueMicrotask(() => leaving.abort());
        return new Promise(() => undefined);
      },
    });
    const { connector } = connectTo('http://api.example', {}, { resolver });
    const sockets = openOnOurSide('net.client.socket', 'socket');
    const run = failureOf(connector.run((e) => e.getJson(['a']), { signal: leaving.signal, kill: signal() }));
    expect(await run).toBeInstanceOf(HttpCancelledError);
    await sockets.gone();
    expect(sockets.stop()).toMatchObject({ seen: 1, left: 0 });
  });

  it('ends a request that the operation did not wait for', async () => {
    const server = await serve(() => undefined);
    const { connector } = connectTo(server.url);
    let abandoned: Promise<unknown> = Promise.resolve();
    await connector.run(async (exchange) => {
      abandoned = failureOf(exchange.getJson(['a']));
      while (server.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    }, patient());
    expect(await abandoned).toBeInstanceOf(HttpCancelledError);
    await server.idle();
  });

  it('does not begin for a caller who has left', async () => {
    const server = await serve(saying(200));
    const { connector } = connectTo(server.url);
    const run = connector.run((e) => e.getJson(['a']), { signal: AbortSignal.abort(), kill: signal() });
    expect(await failureOf(run)).toBeInstanceOf(HttpCancelledError);
    expect(server.connections).toBe(0);
  });

  it('one request can be ended alone, and the next one sent', async () => {
    const server = await serve((request, response) => {
      if (request.url !== '/lento') response.end('{}');
    });
    const { connector } = connectTo(server.url);
    const answer = await connector.run(async (exchange) => {
      const first = new AbortController();
      const slow = failureOf(exchange.getJson(['lento'], { signal: first.signal }));
      while (server.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
      first.abort();
      expect(await slow).toBeInstanceOf(HttpCancelledError);
      return exchange.getJson(['otro']);
    }, patient());
    expect(answer).toEqual({ status: 200, body: {} });
  });

  it('two requests at a time in one slot are a bug', async () => {
    const server = await serve(saying(200));
    const { connector } = connectTo(server.url);
    const run = connector.run((e) => Promise.all([e.getJson(['a']), e.getJson(['b'])]), patient());
    expect(connector.classify(await failureOf(run))).toEqual({ kind: 'bug' });
    expect(server.requests.length).toBeLessThanOrEqual(1);
  });
});

describe('under the executor', () => {
  it('429 pauses the whole source until Retry-After, and does not open the circuit', async () => {
    let throttle = true;
    const server = await serve((_request, response) => {
      if (throttle) response.writeHead(429, { 'Retry-After': '7' }).end();
      else response.end('{}');
    });
    const executor = executorOf(connectTo(server.url, { circuitFailureThreshold: 1, acquireTimeoutSeconds: 0.05 }));
    const call = (): Promise<unknown> => executor.run((exchange) => exchange.getJson(['a']), { signal: signal() });
    const first = await failureOf(call());
    expect(first).toBeInstanceOf(RateLimitedError);
    expect(first).toMatchObject({ retryAfterSeconds: 7 });
    throttle = false;
    const second = await failureOf(call());
    expect(second).toBeInstanceOf(RateLimitedError);
    expect((second as RateLimitedError).retryAfterSeconds).toBeGreaterThan(6);
    expect(server.requests).toHaveLength(1);
    expect(executor.state).toBe('closed');
    await executor.close();
  });

  it('a short pause is waited out within the acquire timeout', async () => {
    let requests = 0;
    const server = await serve((_request, response) => {
      requests += 1;
      if (requests === 1) response.writeHead(429, { 'Retry-After': '1' }).end();
      else response.end('{}');
    });
    const executor = executorOf(connectTo(server.url));
    const call = (): Promise<unknown> => executor.run((exchange) => exchange.getJson(['a']), { signal: signal() });
    await failureOf(call());
    const begun = performance.now();
    expect(await call()).toEqual({ status: 200, body: {} });
    expect(performance.now() - begun).toBeGreaterThan(900);
    await executor.close();
  });

  it('401 is told as rejected and does not open the circuit', async () => {
    const server = await serve(saying(401));
    const executor = executorOf(connectTo(server.url, { circuitFailureThreshold: 1 }));
    const call = executor.run((exchange) => exchange.getJson(['a']), { signal: signal() });
    expect(await failureOf(call)).toBeInstanceOf(RejectedError);
    expect(executor.state).toBe('closed');
    await executor.close();
  });

  it('503 tells its callers when to come back, and malformed bodies open the circuit', async () => {
    const server = await serve(saying(503, { 'Retry-After': '9' }));
    const down = executorOf(connectTo(server.url));
    const error = await failureOf(down.run((exchange) => exchange.getJson(['a']), { signal: signal() }));
    expect(error).toBeInstanceOf(SourceUnavailableError);
    expect(error).toMatchObject({ retryAfterSeconds: 9 });
    await down.close();

    const broken = await serve((_request, response) => void response.end('<html>'));
    const executor = executorOf(connectTo(broken.url, { circuitFailureThreshold: 1 }));
    await failureOf(executor.run((exchange) => exchange.getJson(['a']), { signal: signal() }));
    expect(executor.state).toBe('open');
    await executor.close();
  });
});
