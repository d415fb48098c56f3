import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { defer, from, mergeMap } from 'rxjs';
import { z } from 'zod';
import { CALL_LIMIT, CREDENTIAL_HEADER } from '../../../src/mcp/bindings.js';
import type { McpCall } from '../../../src/mcp/call.js';
import { CallError } from '../../../src/mcp/errors.js';
import { McpTool } from '../../../src/mcp/decorators.js';
import { INVALID_ARGUMENTS } from '../../../src/mcp/validate.interceptor.js';
import { bootMcp, type McpApp } from '../../support/mcp-app.js';
import { Colgado, Eco, SECRET } from '../../support/mcp-fixtures.js';
import { legacy, modern, send } from '../../support/mcp-http.js';

let server: McpApp;
afterEach(() => server.close());

const ECO = { name: 'eco', arguments: { texto: 'a' } };

/** A step that notes its name, waits as real ones do, and may refuse. */
class Step implements NestInterceptor {
  constructor(
    private readonly name: string,
    private readonly order: string[],
    private readonly refuse?: (call: McpCall) => CallError | undefined,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler) {
    const call = context.getArgByIndex<McpCall>(0);
    this.order.push(`${this.name} ${context.getType()} ${context.getClass().name}`);
    const refusal = this.refuse?.(call);
    if (refusal !== undefined) throw refusal;
    return defer(() => from(Promise.resolve())).pipe(mergeMap(() => next.handle()));
  }
}

describe('the steps of a call', () => {
  it('run in the order of CALL_STEPS around the method, for tools, resources, prompts and what is unknown', async () => {
    const order: string[] = [];
    server = await bootMcp({
      steps: (validate) => [new Step('audit', order), new Step('decide', order), validate, new Step('consume', order)],
    });
    await legacy(server.url, 'tools/call', ECO);
    expect(order).toEqual(['audit mcp Eco', 'decide mcp Eco', 'consume mcp Eco']);
    order.length = 0;
    await legacy(server.url, 'resources/read', { uri: 'data://prueba/dato' });
    await modern(server.url, 'prompts/get', { name: 'saludo', arguments: { nombre: 'x' } });
    expect(order).toEqual(['Dato', 'Saludo'].flatMap((n) => [`audit mcp ${n}`, `decide mcp ${n}`, `consume mcp ${n}`]));
    order.length = 0;
    await modern(server.url, 'tools/call', { name: 'nada' });
    expect(order).toEqual(['audit', 'decide', 'consume'].map((step) => `${step} mcp CatalogueHost`));
  });

  it('stop at the first refusal: a malformed call consumes nothing, a denied one is not even validated', async () => {
    const order: string[] = [];
    let denied = false;
    const deny = () => (denied ? new CallError('no_grant', 'No tienes permiso.', { result: 'denied' }) : undefined);
    server = await bootMcp({
      steps: (validate) => [
        new Step('audit', order),
        new Step('decide', order, deny),
        validate,
        new Step('consume', order),
      ],
    });
    await legacy(server.url, 'tools/call', { name: 'eco', arguments: { texto: 1 } });
    expect(order).toEqual(['audit mcp Eco', 'decide mcp Eco']);
    denied = true;
    const reply = await legacy(server.url, 'tools/call', { name: 'eco', arguments: { texto: 1 } });
    expect(reply.json.result).toMatchObject({
      isError: true,
      content: [{ text: 'No tienes permiso.' }],
      _meta: { 'mcp-corp/error': { code: 'no_grant' } },
    });
  });

  it('are those of each application alone, when two in one process serve the same classes', async () => {
    const first: string[] = [];
    const second: string[] = [];
    const other = await bootMcp({ steps: (validate) => [new Step('one', first), validate] });
    try {
      server = await bootMcp({ steps: (validate) => [new Step('two', second), validate] });
      await legacy(server.url, 'tools/call', ECO);
      await legacy(other.url, 'tools/call', ECO);
      expect({ first, second }).toEqual({ first: ['one mcp Eco'], second: ['two mcp Eco'] });
    } finally {
      await other.close();
    }
  });
});

describe('a call', () => {
  beforeEach(async () => {
    server = await bootMcp();
  });

  it('carries one correlation id, its own, through every step and into every log line', async () => {
    await legacy(server.url, 'tools/call', ECO);
    await legacy(server.url, 'tools/call', { name: 'falla', arguments: { modo: 'bug' } });
    const [first, second] = server.witness.begun;
    expect(first?.correlationId).toMatch(/^[0-9a-f]{32}$/);
    expect(second?.correlationId).not.toBe(first?.correlationId);
    expect(server.witness.contexts[0]).toEqual({ before: first?.correlationId, after: first?.correlationId });
    const [line] = server.lines.filter(({ message }) => message === 'unexpected_error');
    expect(line).toMatchObject({
      level: 'ERROR',
      logger: 'mcp_corp.tools',
      name: 'falla',
      correlation_id: second?.correlationId,
    });
  });

  it('parses its subject once, whoever asks, and keeps the refusal of one that cannot be parsed', async () => {
    const eco = server.get(Eco);
    await legacy(server.url, 'tools/call', ECO);
    expect(eco.subjects).toBe(1);
    await legacy(server.url, 'tools/call', { name: 'eco', arguments: { texto: 'ilegible' } });
    expect(eco.subjects).toBe(2);
    expect(server.witness.order).toEqual(['witness', 'witness', 'no subject']);
    const [, ending] = server.witness.ended;
    expect(ending?.error).toMatchObject({ code: 'invalid_identifier' });
  });

  it('that is unknown reaches the steps as `unknown`, and only its sender reads the name again', async () => {
    const name = 'V16760320';
    const replies = await Promise.all([
      legacy(server.url, 'tools/call', { name }),
      modern(server.url, 'prompts/get', { name }),
      legacy(server.url, 'resources/read', { uri: `data://${name}` }),
    ]);
    expect(replies.map(({ json }) => json.error.message)).toEqual([
      `Unknown tool: '${name}'`,
      `Unknown prompt: '${name}'`,
      `Unknown resource: 'data://${name}'`,
    ]);
    expect(server.witness.begun.map(({ kind, name: seen }) => `${kind} ${seen}`).sort()).toEqual([
      'prompt unknown',
      'resource unknown',
      'tool unknown',
    ]);
    expect(server.witness.ended.map(({ error }) => (error as CallError).code)).toEqual(Array(3).fill('not_found'));
    expect(JSON.stringify([server.lines, server.witness.ended.map(({ error }) => String(error))])).not.toContain(name);
    const long = await legacy(server.url, 'tools/call', { name: 'x'.repeat(5000) });
    expect(long.json.error.message).toBe(`Unknown tool: '${'x'.repeat(128)}'`);
  });

  it.each([['text'], [7], [null], [['x']], [undefined]])(
    'with arguments %j is a malformed call like any other: audited, in our words',
    async (sent) => {
      for (const post of [legacy, modern]) {
        const reply = await post(server.url, 'tools/call', { name: 'eco', arguments: sent });
        expect(reply.json.result).toMatchObject({ isError: true, content: [{ text: INVALID_ARGUMENTS }] });
        const prompt = await post(server.url, 'prompts/get', { name: 'saludo', arguments: sent });
        expect(prompt.json.error).toMatchObject({
          code: -32602,
          message: INVALID_ARGUMENTS,
          data: { code: 'invalid_arguments' },
        });
      }
      expect(server.witness.ended.map(({ error }) => (error as CallError).code)).toEqual(
        Array(4).fill('invalid_arguments'),
      );
    },
  );

  it('with a value that does not fit gets no word of that value back, and neither does the log', async () => {
    const value = 'J-16760320-2-y-mucho-más-de-cuarenta-caracteres';
    const reply = await legacy(server.url, 'tools/call', { name: 'eco', arguments: { texto: value } });
    expect(reply.text + JSON.stringify(server.lines)).not.toContain('16760320');
  });

  it('that meets a bug is masked everywhere, and the log has its class without its message', async () => {
    for (const modo of ['bug', 'salida']) {
      const reply = await modern(server.url, 'tools/call', { name: 'falla', arguments: { modo } });
      expect(reply.json.result).toMatchObject({ isError: true, content: [{ text: "Error calling tool 'falla'" }] });
      expect(reply.text).not.toContain(SECRET);
    }
    await legacy(server.url, 'resources/read', { uri: 'data://prueba/roto' });
    expect(server.lines.filter(({ message }) => message === 'unexpected_error')).toHaveLength(3);
    // Values never: where a result does not match its schema, the places are named.
    expect(JSON.stringify(server.lines)).toContain('invalid_type at numero');
  });

  it('may be answered with a JSON-RPC error of its own', async () => {
    const reply = await legacy(server.url, 'tools/call', { name: 'falla', arguments: { modo: 'jsonrpc' } });
    expect(reply.json.error).toEqual({ code: 4003, message: 'No está permitido.', data: { code: 'sin_permiso' } });
    for (const post of [legacy, modern]) {
      // In band: only the protocol itself may say with an HTTP status that there is no such method.
      expect(await post(server.url, 'tools/call', { name: 'falla', arguments: { modo: 'metodo' } })).toMatchObject({
        status: 200,
        json: { error: { code: -32601 } },
      });
    }
  });

  it('knows who asks: credential, client, language and trace', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await legacy(server.url, 'tools/call', ECO, {
      headers: { authorization: 'Bearer abc.def', 'user-agent': 'agente/2', 'accept-language': 'es', traceparent },
    });
    await modern(
      server.url,
      'tools/call',
      { ...ECO, _meta: { traceparent } },
      { headers: { 'user-agent': 'agente/2' } },
    );
    await modern(server.url, 'tools/call', {
      ...ECO,
      _meta: { traceparent: `00-${'0'.repeat(32)}-b7ad6b7169203331-01` },
    });
    const [first, second, third] = server.witness.begun;
    expect(first?.caller).toEqual({ credential: 'abc.def', client: 'agente/2', language: 'es' });
    expect(first?.traceId).toBe('0af7651916cd43dd8448eb211c80319c');
    expect(second?.caller).toEqual({ credential: '', client: 'cliente-de-prueba/1.2.3', language: undefined });
    expect(second?.traceId).toBe('0af7651916cd43dd8448eb211c80319c');
    expect(third?.traceId).toBeUndefined();
  });

  it('gets its own answer among 500 that are under way at the same time', async () => {
    const replies = await Promise.all(
      Array.from({ length: 500 }, async (_, index) => {
        const nonce = `nonce-${index}`;
        const params = { name: 'turnos', arguments: { nonce, turnos: (index * 7) % 23 } };
        const reply = await (index % 2 === 0 ? legacy : modern)(server.url, 'tools/call', params);
        return [
          nonce,
          reply.status,
          (reply.json.result?.['structuredContent'] ?? {}) as Record<string, unknown>,
        ] as const;
      }),
    );
    const served = replies.filter(([, status]) => status === 200);
    expect(served.length).toBeGreaterThanOrEqual(100);
    for (const [nonce, , content] of served) expect(content['nonce']).toBe(nonce);
    expect(new Set(served.map(([, , content]) => content['correlacion'])).size).toBe(served.length);
    expect(replies.filter(([, status]) => status !== 200).every(([, status]) => status === 503)).toBe(true);
    await server.gate.idle();
  });
});

describe('the bindings of an application', () => {
  it('say which header carries the credential and how many calls may be in flight', async () => {
    server = await bootMcp({
      http: { allowedOrigins: ['https://app.example.com'] },
      providers: [
        { provide: CREDENTIAL_HEADER, useValue: 'X-Api-Key' },
        { provide: CALL_LIMIT, useValue: 0 },
      ],
    });
    const preflight = await send(server.url, { method: 'OPTIONS', headers: { origin: 'https://app.example.com' } });
    expect(preflight.headers['access-control-allow-headers']).toMatch(/, Last-Event-ID, x-api-key$/);
    expect((await legacy(server.url, 'ping')).status).toBe(503);
    await server.close();
    server = await bootMcp({ providers: [{ provide: CREDENTIAL_HEADER, useValue: 'X-Api-Key' }] });
    await legacy(server.url, 'tools/call', ECO, { headers: { 'x-api-key': 'clave', authorization: 'Bearer otra' } });
    expect(server.witness.begun[0]?.caller.credential).toBe('clave');
  });
});

describe('the end of a call', () => {
  beforeEach(async () => {
    server = await bootMcp();
  });

  /** The server's side of each connection, and whether the call was cut when the turn after its close began. */
  function watch(): Promise<boolean>[] {
    const seen: Promise<boolean>[] = [];
    server.app.getHttpServer().on('connection', (socket: Socket) => {
      const noticed = once(socket, 'close').then(() => new Promise<void>((resolve) => setImmediate(resolve)));
      seen.push(noticed.then(() => server.witness.begun.at(-1)?.signal.aborted === true));
    });
    return seen;
  }

  it.each([
    ['2025', legacy],
    ['2026', modern],
  ])('comes within one turn of noticing that its %s client has gone', async (_era, post) => {
    const seen = watch();
    const tool = server.get(Colgado);
    const reached = new Promise<McpCall>((resolve) => (tool.onReached = resolve));
    const leave = new AbortController();
    post(server.url, 'tools/call', { name: 'colgado' }, { signal: leave.signal }).catch(() => undefined);
    const call = await reached;
    expect(call.signal.aborted).toBe(false);
    leave.abort();
    await expect(seen.at(-1)).resolves.toBe(true);
    expect(call.signal.reason).toMatchObject({ code: 'cancelled' });
    await server.gate.idle();
    expect(server.witness.ended).toHaveLength(1);
    expect(server.lines.filter(({ message }) => message === 'unexpected_error')).toEqual([]);
  });

  it('comes to a delegated request and to a whole batch in the same way', async () => {
    const tool = server.get(Colgado);
    let aborted = 0;
    tool.onAborted = () => void aborted++;
    const leave = new AbortController();
    const all = new Promise<void>((resolve) => {
      tool.onReached = () => void (tool.reached.length === 3 && resolve());
    });
    const encoded = `=?base64?${Buffer.from('colgado').toString('base64')}?=`;
    const batch = [1, 2].map((id) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'colgado' } }));
    const gone = { signal: leave.signal };
    modern(server.url, 'tools/call', { name: 'colgado' }, { ...gone, headers: { 'mcp-name': encoded } }).catch(
      () => undefined,
    );
    send(server.url, { ...gone, headers: { 'content-type': 'application/json' }, body: JSON.stringify(batch) }).catch(
      () => undefined,
    );
    await all;
    expect(server.gate.inFlight).toBe(3);
    leave.abort();
    await server.gate.idle();
    expect(aborted).toBe(3);
    expect(server.witness.ended).toHaveLength(3);
  });

  it('is cut by shutdown with that reason, answered, and only then is the gate idle', async () => {
    const tool = server.get(Colgado);
    const reached = new Promise<McpCall>((resolve) => (tool.onReached = resolve));
    const reply = legacy(server.url, 'tools/call', { name: 'colgado' });
    const call = await reached;
    server.gate.stop();
    const order: string[] = [];
    const idle = server.gate.idle().then(() => order.push('idle'));
    expect((await legacy(server.url, 'ping')).status).toBe(503);
    order.push('refused');
    server.gate.abortAll();
    expect((await reply).json.result).toMatchObject({
      isError: true,
      _meta: { 'mcp-corp/error': { code: 'shutdown' } },
    });
    await idle;
    expect(order).toEqual(['refused', 'idle']);
    expect(call.signal.reason).toMatchObject({ code: 'shutdown' });
    expect(server.gate.inFlight).toBe(0);
  });

  it('leaves nothing in flight after answers of every kind', async () => {
    await legacy(server.url, 'tools/call', ECO);
    await modern(server.url, 'tools/list');
    await modern(server.url, 'no/existe');
    await legacy(server.url, 'tools/call', { name: 7 });
    await send(server.url, { headers: { 'content-type': 'application/json' }, body: '{' });
    await server.gate.idle();
    expect(server.gate.inFlight).toBe(0);
  });
});

describe('schemas', () => {
  it('are converted when the application is built and never again', async () => {
    let conversions = 0;
    const counted = z.string().meta({
      get description() {
        conversions++;
        return 'contado';
      },
    });

    @McpTool({
      name: 'contada',
      title: 'Contada',
      description: 'Cuenta.',
      input: z.strictObject({ a: counted }),
      output: z.strictObject({ a: counted }),
      requires: [],
      annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    })
    @Injectable()
    class Contada {
      async call(input: unknown): Promise<unknown> {
        return input;
      }
    }

    server = await bootMcp({ classes: [Contada] });
    const atStart = conversions;
    expect(atStart).toBeGreaterThan(0);
    for (const post of [legacy, modern]) {
      await post(server.url, 'tools/list');
      await post(server.url, 'tools/call', { name: 'contada', arguments: { a: 'x' } });
    }
    expect(conversions).toBe(atStart);
  });
});
