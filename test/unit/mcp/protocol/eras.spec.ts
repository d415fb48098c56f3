import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { bootMcp, type McpApp } from '../../../support/mcp-app.js';
import { ENVELOPE, legacy, modern, send } from '../../../support/mcp-http.js';

let server: McpApp;
beforeAll(async () => {
  server = await bootMcp();
});
afterAll(() => server.close());

const JSON_TYPE = { 'content-type': 'application/json' };
const ECO = { name: 'eco', arguments: { texto: 'a' } };
const INITIALIZE = { capabilities: {}, clientInfo: { name: 'c', version: '1' } };

/** The messages of an event stream. */
function events(text: string): Record<string, unknown>[] {
  return text
    .split('\n\n')
    .filter((frame) => frame.startsWith('event: message\ndata: '))
    .map((frame) => JSON.parse(frame.slice('event: message\ndata: '.length)) as Record<string, unknown>);
}

describe('the 2025 era', () => {
  it.each(['2024-10-07', '2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])(
    'negotiates %s',
    async (protocolVersion) => {
      const reply = await legacy(
        server.url,
        'initialize',
        { ...INITIALIZE, protocolVersion },
        { headers: { 'mcp-protocol-version': undefined } },
      );
      expect(reply).toMatchObject({
        status: 200,
        json: {
          result: {
            protocolVersion,
            serverInfo: { name: 'servidor-de-prueba', version: '2.0.0' },
            capabilities: {
              tools: { listChanged: false },
              resources: { listChanged: false, subscribe: false },
              prompts: { listChanged: false },
              logging: {},
            },
          },
        },
      });
      expect(reply.headers['mcp-session-id']).toBeUndefined();
      const call = await legacy(server.url, 'tools/call', ECO, {
        headers: { 'mcp-protocol-version': protocolVersion },
      });
      expect(call.json.result).toMatchObject({ structuredContent: { texto: 'a' } });
    },
  );

  it('answers its newest version to one it does not know', async () => {
    const reply = await legacy(
      server.url,
      'initialize',
      { ...INITIALIZE, protocolVersion: '1999-01-01' },
      { headers: { 'mcp-protocol-version': undefined } },
    );
    expect(reply.json.result).toMatchObject({ protocolVersion: '2025-11-25' });
  });

  it.each([
    undefined,
    'application/json',
    '*/*',
    'text/event-stream',
    'application/json, text/event-stream',
    'text/html',
  ])('answers JSON to a client that accepts %s', async (accept) => {
    const reply = await legacy(server.url, 'tools/call', ECO, { headers: accept === undefined ? {} : { accept } });
    expect(reply).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
    expect(reply.json.result).toMatchObject({ structuredContent: { texto: 'a' } });
    expect(reply.json.result).not.toHaveProperty('resultType');
  });

  it('ignores a session id that it never gave', async () => {
    expect((await legacy(server.url, 'tools/call', ECO, { headers: { 'mcp-session-id': 'ajena' } })).status).toBe(200);
  });

  it('answers ping and logging/setLevel, and -32601 in band to what it does not know', async () => {
    expect((await legacy(server.url, 'ping')).json.result).toEqual({});
    expect((await legacy(server.url, 'logging/setLevel', { level: 'info' })).json.result).toEqual({});
    for (const method of ['no/existe', 'server/discover', 'completion/complete', 'resources/subscribe']) {
      expect(await legacy(server.url, method, { uri: 'data://prueba/dato' })).toMatchObject({
        status: 200,
        json: { error: { code: -32601 } },
      });
    }
  });

  it('accepts notifications and posted responses with 202 and no body', async () => {
    for (const body of [
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
      { jsonrpc: '2.0', id: 9, result: {} },
    ]) {
      expect(await send(server.url, { headers: JSON_TYPE, body: JSON.stringify(body) })).toMatchObject({
        status: 202,
        text: '',
      });
    }
  });

  it('refuses a version header that is no version of any era', async () => {
    expect(await legacy(server.url, 'ping', {}, { headers: { 'mcp-protocol-version': '2000-01-01' } })).toMatchObject({
      status: 400,
      json: { error: { code: -32000 } },
    });
  });

  it('streams progress and log messages to a client that accepts a stream, and only the result to others', async () => {
    const params = { name: 'avisa', arguments: {}, _meta: { progressToken: 'p' } };
    const streamed = await legacy(server.url, 'tools/call', params, {
      headers: { accept: 'application/json, text/event-stream' },
    });
    expect(streamed.headers).toMatchObject({ 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
    expect(events(streamed.text)).toMatchObject([
      { method: 'notifications/progress', params: { progressToken: 'p', progress: 1, total: 2, message: 'a medias' } },
      { method: 'notifications/message', params: { level: 'info', data: { paso: 1 } } },
      { method: 'notifications/progress', params: { progress: 2 } },
      { result: { structuredContent: { hecho: true } } },
    ]);
    const plain = await legacy(server.url, 'tools/call', params, { headers: { accept: 'application/json' } });
    expect(plain.headers['content-type']).toBe('application/json');
    expect(plain.json.result).toMatchObject({ structuredContent: { hecho: true } });
  });

  it('serves a batch, each message as a call of its own, also to clients that accept JSON only', async () => {
    const batch = [
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: ECO },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'eco', arguments: { texto: 'b' } } },
      { jsonrpc: '2.0', id: 3, method: 'prompts/list' },
    ];
    const before = server.witness.begun.length;
    const reply = await send(server.url, {
      headers: { ...JSON_TYPE, accept: 'application/json' },
      body: JSON.stringify(batch),
    });
    expect(reply.status).toBe(200);
    const answers = reply.json as unknown as { id: number; result: object }[];
    expect(answers.map(({ id }) => id).sort()).toEqual([1, 2, 3]);
    expect(answers.find(({ id }) => id === 2)?.result).toMatchObject({ structuredContent: { texto: 'b' } });
    expect(server.witness.begun.length - before).toBe(2);
  });

  it('bounds a batch by the room that is left for calls', async () => {
    const small = await bootMcp({ http: { maxCalls: 3 } });
    try {
      const batch = Array.from({ length: 4 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' }));
      const body = (messages: object[]) => ({ headers: JSON_TYPE, body: JSON.stringify(messages) });
      expect(await send(small.url, body(batch))).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
      expect((await send(small.url, body(batch.slice(1)))).status).toBe(200);
      await small.gate.idle();
      expect(small.gate.inFlight).toBe(0);
    } finally {
      await small.close();
    }
  });
});

describe('the 2026 era', () => {
  it('answers with the type of the result and the name of the server', async () => {
    const reply = await modern(server.url, 'tools/call', ECO);
    expect(reply).toMatchObject({
      status: 200,
      headers: { 'content-type': 'application/json' },
      json: {
        result: {
          resultType: 'complete',
          structuredContent: { texto: 'a' },
          _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'servidor-de-prueba', version: '2.0.0' } },
        },
      },
    });
  });

  it('gives private cache hints with every list, and none of another era', async () => {
    for (const method of [
      'tools/list',
      'resources/list',
      'resources/templates/list',
      'prompts/list',
      'server/discover',
    ]) {
      expect((await modern(server.url, method)).json.result).toMatchObject({ ttlMs: 60_000, cacheScope: 'private' });
    }
    expect((await modern(server.url, 'resources/read', { uri: 'data://prueba/dato' })).json.result).toMatchObject({
      ttlMs: 0,
      cacheScope: 'private',
    });
    expect((await legacy(server.url, 'tools/list')).json.result).not.toHaveProperty('ttlMs');
  });

  it('discovers its version and its capabilities', async () => {
    expect((await modern(server.url, 'server/discover')).json.result).toMatchObject({
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: { listChanged: false } },
    });
  });

  it.each([
    ['a missing method header', { 'mcp-method': undefined }],
    ['another method', { 'mcp-method': 'tools/list' }],
    ['a missing name header', { 'mcp-name': undefined }],
    ['another name', { 'mcp-name': 'otra' }],
    ['a missing version header', { 'mcp-protocol-version': undefined }],
    ['another version in the header', { 'mcp-protocol-version': '2025-11-25' }],
  ])('refuses %s with 400 and -32020', async (_what, headers) => {
    expect(await modern(server.url, 'tools/call', ECO, { headers })).toMatchObject({
      status: 400,
      json: { error: { code: -32020 } },
    });
  });

  it('takes a name header in its encoded form too', async () => {
    const encoded = `=?base64?${Buffer.from('eco').toString('base64')}?=`;
    const reply = await modern(server.url, 'tools/call', ECO, { headers: { 'mcp-name': encoded } });
    expect(reply.json.result).toMatchObject({ structuredContent: { texto: 'a' } });
  });

  it('refuses a version that it does not serve with -32022 and names those that it does', async () => {
    const params = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2099-01-01' } };
    const reply = await modern(server.url, 'tools/list', params, { headers: { 'mcp-protocol-version': '2099-01-01' } });
    expect(reply).toMatchObject({
      status: 400,
      json: { error: { code: -32022, data: { supported: ['2026-07-28'], requested: '2099-01-01' } } },
    });
  });

  it('refuses an envelope without its required keys with 400 and -32602', async () => {
    const params = { _meta: { 'io.modelcontextprotocol/clientCapabilities': undefined } };
    expect(await modern(server.url, 'tools/list', params)).toMatchObject({
      status: 400,
      json: { error: { code: -32602 } },
    });
  });

  it.each(['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'no/existe', 'completion/complete'])(
    'answers %s with 404 and -32601',
    async (method) => {
      expect(await modern(server.url, method)).toMatchObject({ status: 404, json: { error: { code: -32601 } } });
    },
  );

  it('accepts a notification with 202', async () => {
    const body = JSON.stringify({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 1, _meta: ENVELOPE },
    });
    const headers = { ...JSON_TYPE, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'notifications/cancelled' };
    expect(await send(server.url, { headers, body })).toMatchObject({ status: 202, text: '' });
  });

  it('streams progress when it is asked for, and log messages only when the request asks for them', async () => {
    const accept = { headers: { accept: 'application/json, text/event-stream' } };
    const meta = { progressToken: 1 };
    const quiet = events((await modern(server.url, 'tools/call', { name: 'avisa', _meta: meta }, accept)).text);
    expect(quiet.map((message) => message['method'])).toEqual([
      'notifications/progress',
      'notifications/progress',
      undefined,
    ]);
    const level = { ...meta, 'io.modelcontextprotocol/logLevel': 'info' };
    const loud = events((await modern(server.url, 'tools/call', { name: 'avisa', _meta: level }, accept)).text);
    expect(loud).toHaveLength(4);
    expect(loud.at(-1)).toMatchObject({ result: { resultType: 'complete', structuredContent: { hecho: true } } });
    const silent = await modern(server.url, 'tools/call', { name: 'avisa' }, accept);
    expect(silent.headers['content-type']).toBe('application/json');
  });
});

describe('subscriptions/listen', () => {
  const listen = { notifications: { toolsListChanged: true } };

  it('is acknowledged with nothing and ends properly where the catalogue is fixed', async () => {
    const reply = await modern(server.url, 'subscriptions/listen', listen);
    expect(events(reply.text)).toMatchObject([
      { method: 'notifications/subscriptions/acknowledged', params: { notifications: {} } },
      { result: { resultType: 'complete' } },
    ]);
  });

  it('stays open where somebody announces changes, counts as no call, and ends with its result when streams are ended', async () => {
    const { InMemoryServerEventBus } = await import('@modelcontextprotocol/server');
    const { CHANGE_BUS } = await import('../../../../src/mcp/changes.js');
    const bus = new InMemoryServerEventBus();
    const live = await bootMcp({ providers: [{ provide: CHANGE_BUS, useValue: bus }] });
    try {
      const message = { jsonrpc: '2.0', id: 5, method: 'subscriptions/listen', params: { ...listen, _meta: ENVELOPE } };
      const headers = { ...JSON_TYPE, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' };
      const req = request(live.url, { method: 'POST', headers, agent: false });
      req.end(JSON.stringify(message));
      const [res] = (await once(req, 'response')) as [IncomingMessage];
      let text = '';
      res.setEncoding('utf8').on('data', (part: string) => (text += part));
      await once(res, 'data');
      expect(live.gate.inFlight).toBe(0);
      bus.publish({ kind: 'tools_list_changed' });
      await once(res, 'data');
      await live.engine.endStreams();
      await once(res, 'end');
      expect(events(text)).toMatchObject([
        { method: 'notifications/subscriptions/acknowledged', params: { notifications: { toolsListChanged: true } } },
        { method: 'notifications/tools/list_changed' },
        { id: 5, result: { resultType: 'complete' } },
      ]);
      expect(await modern(live.url, 'subscriptions/listen', listen)).toMatchObject({ status: 503 });
      expect((await modern(live.url, 'tools/call', ECO)).status).toBe(200);
      expect(
        (await legacy(live.url, 'initialize', { ...INITIALIZE, protocolVersion: '2025-11-25' })).json.result,
      ).toMatchObject({
        capabilities: { tools: { listChanged: true } },
      });
    } finally {
      await live.close();
    }
  });
});
