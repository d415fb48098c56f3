import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { classifyInboundRequest } from '@modelcontextprotocol/server';
import fc from 'fast-check';
import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { CONTENT, content, image, text } from '../../../../src/mcp/content.js';
import { McpTool } from '../../../../src/mcp/decorators.js';
import { usualCall, usualList } from '../../../../src/mcp/protocol/usual-call.js';
import { bootMcp, type McpApp } from '../../../support/mcp-app.js';
import { FIXTURES } from '../../../support/mcp-fixtures.js';
import { ENVELOPE, send, type Reply } from '../../../support/mcp-http.js';

const VERSION = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const INFO = 'io.modelcontextprotocol/clientInfo';

/** Mostly right, so that most messages differ from a usual one in one place at most. */
const mostly = (right: unknown, ...others: unknown[]) =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constant(right) },
    { weight: 1, arbitrary: fc.constantFrom(undefined, null, 1, 'x', '', [], {}, ...others) },
  );

const record = (fields: Record<string, fc.Arbitrary<unknown>>) =>
  fc.record(fields).map((made) => Object.fromEntries(Object.entries(made).filter(([, value]) => value !== undefined)));

const capabilities = mostly(
  {},
  { roots: { listChanged: true } },
  { elicitation: { form: {}, url: {} }, sampling: {} },
  { elicitation: { form: { applyDefaults: true } } },
  { sampling: { tools: {}, context: {} }, roots: {}, experimental: { x: {} }, extensions: { 'a/b': {} } },
  { elicitation: [] },
  { roots: 1 },
  { tasks: {} },
  { ajeno: {} },
);
const info = mostly({ name: 'c', version: '1' }, { name: 'c' }, { name: 'c', version: '1', title: 't' });
const envelope = record({
  [VERSION]: mostly('2026-07-28', '2025-11-25', '2099-01-01'),
  [CAPABILITIES]: capabilities,
  [INFO]: info,
  progressToken: mostly(undefined, 'p'),
  'io.modelcontextprotocol/logLevel': mostly(undefined, 'info'),
});
const params = record({
  name: mostly('eco'),
  arguments: mostly({ texto: 'a' }),
  _meta: fc.oneof(fc.constant(undefined), envelope, mostly({})),
  inputResponses: mostly(undefined),
  requestState: mostly(undefined),
});
const body = record({
  jsonrpc: mostly('2.0', '1.0'),
  id: mostly(7, 'a', 1.5, 2 ** 60),
  method: mostly('tools/call', 'tools/list'),
  params: fc.oneof({ weight: 12, arbitrary: params }, { weight: 1, arbitrary: mostly(undefined) }),
  result: mostly(undefined),
});
const headers = record({
  'mcp-protocol-version': fc.constantFrom(undefined, '2026-07-28', '2025-11-25', '2024-10-07', '2099-01-01', 'x'),
  'mcp-method': fc.constantFrom('tools/call', 'tools/call', 'tools/call', 'tools/list', '', undefined),
  'mcp-name': fc.constantFrom('eco', 'eco', 'eco', 'otra', '', undefined),
}) as fc.Arbitrary<Record<string, string>>;

describe('a usual call', () => {
  it('is known as what the SDK classifies it as, whatever the message is', () => {
    let known = 0;
    fc.assert(
      fc.property(headers, body, (sent, message) => {
        const usual = usualCall(sent, message);
        if (usual === undefined) return;
        known++;
        const outcome = classifyInboundRequest({
          httpMethod: 'POST',
          protocolVersionHeader: sent['mcp-protocol-version'],
          mcpMethodHeader: sent['mcp-method'],
          mcpNameHeader: sent['mcp-name'],
          body: message,
        });
        expect(outcome).toMatchObject(
          usual.era === 'modern'
            ? { kind: 'modern', messageKind: 'request', classification: { era: 'modern', revision: '2026-07-28' } }
            : { kind: 'legacy', reason: 'no-claim' },
        );
        const { name, arguments: sentArguments } = message['params'] as Record<string, unknown>;
        expect(usual).toMatchObject({ id: message['id'], name });
        expect(usual.arguments).toEqual(sentArguments);
      }),
      { numRuns: 5000 },
    );
    expect(known).toBeGreaterThan(50);
  });

  it('that is a list is known as what the SDK classifies it as, whatever the message is', () => {
    let known = 0;
    const lists = fc.tuple(body, fc.constantFrom({}, undefined, { cursor: 'x' })).map(([message, params]) => {
      const meta = (message['params'] as Record<string, unknown> | null | undefined)?.['_meta'];
      return { ...message, params: params && { ...params, ...(meta !== undefined && { _meta: meta }) } };
    });
    fc.assert(
      fc.property(headers, lists, (sent, made) => {
        const message: Record<string, unknown> = { ...made, method: 'tools/list' };
        const usual = usualList(sent, message);
        if (usual === undefined) return;
        known++;
        const outcome = classifyInboundRequest({
          httpMethod: 'POST',
          protocolVersionHeader: sent['mcp-protocol-version'],
          mcpMethodHeader: sent['mcp-method'],
          mcpNameHeader: sent['mcp-name'],
          body: message,
        });
        expect(outcome).toMatchObject(
          usual.era === 'modern'
            ? { kind: 'modern', messageKind: 'request', classification: { era: 'modern', revision: '2026-07-28' } }
            : { kind: 'legacy', reason: 'no-claim' },
        );
        expect(usual.id).toBe(message['id']);
        expect(message['params'] ?? {}).not.toHaveProperty('cursor');
      }),
      { numRuns: 5000 },
    );
    expect(known).toBeGreaterThan(50);
  });

  it.each([
    ['a key of its own', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'eco' }, extra: 1 }],
    ['a progress token', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'eco', _meta: {} } }],
    [
      'answers to a question',
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'eco', inputResponses: {} } },
    ],
    ['no id', { jsonrpc: '2.0', method: 'tools/call', params: { name: 'eco' } }],
    ['a batch', [{ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'eco' } }]],
  ])('is not one with %s', (_what, message) => {
    expect(usualCall({}, message)).toBeUndefined();
  });
});

const HINTS = { readOnlyHint: true, idempotentHint: true, openWorldHint: false };

@McpTool({
  name: 'dibuja',
  title: 'Dibuja',
  description: 'Da contenido que no es solo texto.',
  input: z.strictObject({}),
  output: CONTENT,
  requires: [],
  annotations: HINTS,
})
@Injectable()
class Dibuja {
  async call() {
    return content(text('á "1"'), image(new Uint8Array([1, 2]), 'image/png'));
  }
}

@McpTool({
  name: 'dice',
  title: 'Dice',
  description: 'Da solo texto.',
  input: z.strictObject({}),
  output: CONTENT,
  requires: [],
  annotations: HINTS,
})
@Injectable()
class Dice {
  async call() {
    return content(text('línea\u2028 "1"'), text('😀'));
  }
}

describe('the answer to a usual call', () => {
  let server: McpApp;
  beforeAll(async () => {
    server = await bootMcp({ classes: [...FIXTURES, Dibuja, Dice] });
  });
  afterAll(() => server.close());

  /** The same request twice: as it is, and with a key that nobody reads, which sends it through the SDK. */
  async function both(era: string, named: { name: string; arguments?: unknown }) {
    const modern = era === '2026-07-28';
    const base = modern ? ENVELOPE : undefined;
    const ask = (meta: object | undefined) =>
      send(server.url, {
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': era,
          ...(modern && { 'mcp-method': 'tools/call', 'mcp-name': named.name }),
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 'uno',
          method: 'tools/call',
          params: { ...named, ...(meta && { _meta: meta }) },
        }),
      });
    return [await ask(base), await ask({ ...base, sin_uso: 1 })] as const;
  }

  it.each(['2025-11-25', '2026-07-28'])('for tools in %s is what the SDK would have written', async (era) => {
    const modern = era === '2026-07-28';
    const ask = (params: object) =>
      send(server.url, {
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': era,
          ...(modern && { 'mcp-method': 'tools/list' }),
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 'uno', method: 'tools/list', params }),
      });
    const meta = modern ? { _meta: ENVELOPE } : {};
    const [direct, bySdk] = [await ask(meta), await ask({ ...meta, sin_uso: 1 })];
    const said = ({ status, headers: { 'content-type': type }, text }: Reply) => [
      status,
      type,
      JSON.parse(text) as unknown,
    ];
    expect(said(direct)).toEqual(said(bySdk));
    expect(direct.text).toContain('"dice"');
  });

  it.each(
    ['2025-11-25', '2026-07-28'].flatMap((era) =>
      [
        { name: 'eco', arguments: { texto: 'ñ "a"' } },
        { name: 'eco', arguments: { texto: 'ilegible' } },
        { name: 'eco', arguments: null },
        { name: 'eco', arguments: 'texto' },
        { name: 'eco' },
        { name: 'avisa', arguments: {} },
        { name: 'falla', arguments: { modo: 'negocio' } },
        { name: 'falla', arguments: { modo: 'jsonrpc' } },
        { name: 'falla', arguments: { modo: 'metodo' } },
        { name: 'falla', arguments: { modo: 'bug' } },
        { name: 'falla', arguments: { modo: 'salida' } },
        { name: 'dibuja', arguments: {} },
        { name: 'dice', arguments: {} },
        { name: 'no-existe', arguments: {} },
      ].map((named) => [era, named] as const),
    ),
  )('of %s is what the SDK would have written: %j', async (era, named) => {
    const [direct, bySdk] = await both(era, named);
    const said = ({ status, headers, text }: Reply) => ({
      status,
      type: headers['content-type'],
      // A stream is compared line by line, and each line of JSON whatever the order of its members.
      messages: [...text.matchAll(/(?:^|\ndata: )(\{[^\n]*\})(?:\n|$)/g)].map(
        ([, json = '']) => JSON.parse(json) as unknown,
      ),
    });
    expect(said(direct).messages).not.toEqual([]);
    expect(said(direct)).toEqual(said(bySdk));
  });
});
