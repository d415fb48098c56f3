import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { bootMcp, type McpApp } from '../../support/mcp-app.js';
import { Colgado } from '../../support/mcp-fixtures.js';
import { legacy, modern, send } from '../../support/mcp-http.js';

let server: McpApp;
afterEach(() => server.close());

const JSON_TYPE = { 'content-type': 'application/json' };
const PING = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });

describe('the edge of /mcp', () => {
  it.each(['GET', 'DELETE', 'PUT', 'PATCH', 'HEAD', 'OPTIONS'])(
    'answers %s with 405 and Allow, before anything else',
    async (method) => {
      server = await bootMcp();
      server.gate.stop();
      const reply = await send(server.url, {
        method,
        headers: { host: 'evil.example', origin: 'http://evil.example' },
      });
      expect(reply.status).toBe(405);
      expect(reply.headers.allow).toBe('POST');
      expect(reply.headers['access-control-allow-origin']).toBeUndefined();
      if (method !== 'HEAD') expect(reply.json).toMatchObject({ jsonrpc: '2.0', error: { code: -32600 }, id: null });
    },
  );

  it('refuses a host or an origin that is not listed, as JSON-RPC errors', async () => {
    server = await bootMcp();
    for (const headers of [{ host: 'evil.example' }, { origin: 'http://evil.example' }, { origin: 'null' }]) {
      const reply = await send(server.url, { headers: { ...JSON_TYPE, ...headers }, body: PING });
      expect(reply.status).toBe(403);
      expect(reply.json).toMatchObject({ jsonrpc: '2.0', error: { code: -32600 }, id: null });
      expect(reply.text).not.toContain('evil');
    }
    const local = await send(server.url, { headers: { ...JSON_TYPE, origin: 'http://localhost:5173' }, body: PING });
    expect(local.status).toBe(200);
    expect(Object.keys(local.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it('gives CORS headers to listed origins only, and exactly those', async () => {
    server = await bootMcp({ http: { allowedOrigins: ['https://app.example.com'] } });
    const origin = 'https://app.example.com';
    const preflight = await send(server.url, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST' },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers':
        'Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID',
      'access-control-expose-headers': 'WWW-Authenticate, Mcp-Session-Id',
      vary: 'Origin',
    });
    expect(preflight.headers['access-control-allow-credentials']).toBeUndefined();
    for (const other of ['https://app.example.com:444', 'http://localhost:3000']) {
      expect((await send(server.url, { method: 'OPTIONS', headers: { origin: other } })).status).toBe(403);
      expect((await legacy(server.url, 'ping', {}, { headers: { origin: other } })).status).toBe(403);
    }
    const reply = await legacy(server.url, 'ping', {}, { headers: { origin } });
    expect(reply).toMatchObject({ status: 200, headers: { 'access-control-allow-origin': origin } });
    const delegated = await modern(server.url, 'server/discover', {}, { headers: { origin } });
    expect(delegated).toMatchObject({ status: 200, headers: { 'access-control-allow-origin': origin } });
    const refused = await send(server.url, { headers: { origin }, body: 'x' });
    expect(refused).toMatchObject({ status: 415, headers: { 'access-control-allow-origin': origin } });
  });

  it('answers broken, empty, too large and mistyped bodies with JSON-RPC errors', async () => {
    server = await bootMcp({ http: { maxBodyBytes: 1024 } });
    for (const body of ['{', '', '{"a":}', 'V16760320']) {
      const reply = await send(server.url, { headers: JSON_TYPE, body });
      expect(reply).toMatchObject({ status: 400, json: { error: { code: -32700 }, id: null } });
      expect(reply.text).not.toContain('16760320');
    }
    const large = await send(server.url, { headers: JSON_TYPE, body: JSON.stringify('x'.repeat(1023)) });
    expect(large).toMatchObject({ status: 413, json: { error: { code: -32600 } } });
    expect(await send(server.url, { headers: { 'content-type': 'text/plain' }, body: PING })).toMatchObject({
      status: 415,
      json: { error: { code: -32600 } },
    });
    for (const body of ['null', '7', '"x"', '{}', '{"jsonrpc":"1.0","id":1,"method":"ping"}', '[]', '[1]']) {
      expect(await send(server.url, { headers: JSON_TYPE, body })).toMatchObject({
        status: 400,
        json: { error: { code: -32600 } },
      });
    }
  });

  it('admits as many calls as it may, and refuses the next before it parses it', async () => {
    server = await bootMcp({ http: { maxCalls: 2 } });
    const tool = server.get(Colgado);
    const hang = async () => {
      const reached = new Promise<unknown>((resolve) => (tool.onReached = resolve));
      const leave = new AbortController();
      legacy(server.url, 'tools/call', { name: 'colgado' }, { signal: leave.signal }).catch(() => undefined);
      await reached;
      return leave;
    };
    const first = await hang();
    await hang();
    expect(server.gate.inFlight).toBe(2);
    const refused = await send(server.url, { headers: JSON_TYPE, body: 'this is not even JSON' });
    expect(refused).toMatchObject({ status: 503, headers: { 'retry-after': '1' }, json: { error: { code: -32603 } } });
    // Without waiting for its body.
    const { port } = server;
    const silent = request({ port, host: '127.0.0.1', path: '/mcp', method: 'POST', agent: false, headers: JSON_TYPE });
    silent.setHeader('content-length', 10);
    silent.flushHeaders();
    const [early] = (await once(silent, 'response')) as [IncomingMessage];
    expect(early.statusCode).toBe(503);
    silent.on('error', () => undefined).destroy();
    const freed = new Promise<unknown>((resolve) => (tool.onAborted = resolve));
    first.abort();
    await freed;
    expect((await legacy(server.url, 'ping')).status).toBe(200);
    server.gate.abortAll();
  });
});
