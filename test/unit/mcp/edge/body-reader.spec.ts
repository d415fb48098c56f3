import { createServer, request, type ClientRequest, type IncomingMessage, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { BodyReader, type Body, type BodyLimits } from '../../../../src/mcp/edge/body-reader.js';
import { refuse } from '../../../../src/mcp/edge/refusal.js';

const LIMITS: BodyLimits = { bytes: 100, totalBytes: 1_000, milliseconds: 10_000 };

let server: Server;
const bodies: Body[] = [];
let onBody: () => void = () => undefined;
let onChunk: () => void = () => undefined;

async function listen(limits: Partial<BodyLimits> = {}): Promise<void> {
  const reader = new BodyReader({ ...LIMITS, ...limits });
  server = createServer((req, res) => {
    void reader.read(req).then((body) => {
      bodies.push(body);
      onBody();
      if (body.kind === 'refused') refuse(req, res, body.refusal);
      else res.end(body.kind === 'text' ? body.text : '');
    });
    req.on('data', () => onChunk());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
}

afterEach(() => {
  bodies.length = 0;
  server.closeAllConnections();
  server.close();
});

function open(headers: Record<string, string> = {}): ClientRequest {
  const { port } = server.address() as AddressInfo;
  const req = request({
    port,
    host: '127.0.0.1',
    method: 'POST',
    agent: false,
    headers: { 'content-type': 'application/json', ...headers },
  });
  req.on('error', () => undefined);
  return req;
}

async function answerOf(
  req: ClientRequest,
): Promise<{ status: number; text: string; headers: Record<string, unknown> }> {
  const [res] = (await once(req, 'response')) as [IncomingMessage];
  let text = '';
  res.setEncoding('utf8').on('data', (part: string) => (text += part));
  await once(res, 'end');
  return { status: res.statusCode ?? 0, text, headers: res.headers };
}

describe('a body', () => {
  it('is read whole, also when a character is cut in two by the chunks', async () => {
    await listen();
    const req = open();
    const bytes = Buffer.from('{"a":"ñandú 🦤"}');
    const ñ = bytes.indexOf(0xc3) + 1;
    req.write(bytes.subarray(0, ñ));
    await new Promise<void>((resolve) => (onChunk = resolve));
    req.end(bytes.subarray(ñ));
    expect(await answerOf(req)).toMatchObject({ status: 200, text: '{"a":"ñandú 🦤"}' });
  });

  it('is refused by its announced length before a byte of it is read', async () => {
    await listen();
    const req = open({ 'content-length': '101' });
    req.flushHeaders();
    expect(await answerOf(req)).toMatchObject({ status: 413 });
    req.destroy();
  });

  it('is refused when it grows beyond the limit without having announced it, and accepted exactly at the limit', async () => {
    await listen();
    const long = open({ 'transfer-encoding': 'chunked' });
    long.end('x'.repeat(101));
    const answer = await answerOf(long);
    expect(answer.status).toBe(413);
    expect(JSON.parse(answer.text)).toEqual({
      jsonrpc: '2.0',
      error: { code: -32600, message: 'Payload too large: at most 100 bytes' },
      id: null,
    });
    const exact = open({ 'transfer-encoding': 'chunked' });
    exact.end('x'.repeat(100));
    expect((await answerOf(exact)).status).toBe(200);
  });

  it('that does not come in time is answered 408 and its connection closed', async () => {
    await listen({ milliseconds: 20 });
    const req = open({ 'content-length': '10' });
    req.write('{');
    const answer = await answerOf(req);
    expect(answer).toMatchObject({ status: 408, headers: { connection: 'close' } });
    req.destroy();
  });

  it.each([
    ['text/plain', 415],
    ['application/jsonp', 415],
    ['', 415],
    ['application/json; charset=utf-8', 200],
    ['APPLICATION/JSON', 200],
  ])('of type %j gets %i', async (type, status) => {
    await listen();
    const req = open({ 'content-type': type });
    req.end('{}');
    expect((await answerOf(req)).status).toBe(status);
  });

  it('that is compressed is refused: its size would be unknown', async () => {
    await listen();
    const req = open({ 'content-encoding': 'gzip' });
    req.end('x');
    expect((await answerOf(req)).status).toBe(415);
  });

  it('of a client that goes away is reported as gone', async () => {
    await listen();
    const req = open({ 'content-length': '10' });
    req.write('{');
    await new Promise<void>((resolve) => (onChunk = resolve));
    const reported = new Promise<void>((resolve) => (onBody = resolve));
    req.destroy();
    await reported;
    expect(bodies).toEqual([{ kind: 'gone' }]);
  });
});

describe('all bodies together', () => {
  it('have a limit of bytes, and what was read gives its bytes back', async () => {
    await listen({ totalBytes: 150 });
    const slow = open({ 'content-length': '100' });
    slow.write('x'.repeat(90));
    await new Promise<void>((resolve) => (onChunk = resolve));
    const second = open();
    second.end('y'.repeat(70));
    expect(await answerOf(second)).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
    slow.end('x'.repeat(10));
    expect((await answerOf(slow)).status).toBe(200);
    const third = open();
    third.end('y'.repeat(70));
    expect((await answerOf(third)).status).toBe(200);
  });
});
