import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { bootMcp, type McpApp } from '../../support/mcp-app.js';
import { INVALID_ARGUMENTS } from '../../../src/mcp/validate.interceptor.js';

/** The part of both SDKs' clients that is the same. */
interface AnyClient {
  getServerVersion(): { name: string; version: string } | undefined;
  listTools(params?: { cursor?: string }): Promise<{ tools: { name: string }[] }>;
  listResources(): Promise<{ resources: { uri: string }[] }>;
  listPrompts(): Promise<{ prompts: { name: string; arguments?: object[] }[] }>;
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  readResource(params: { uri: string }): Promise<unknown>;
  getPrompt(params: { name: string; arguments: Record<string, string> }): Promise<unknown>;
  close(): Promise<void>;
}

const INFO = { name: 'cliente', version: '1.0.0' };

async function v1(url: string): Promise<AnyClient> {
  const client = new ClientV1(INFO);
  await client.connect(new TransportV1(new URL(url)));
  return client;
}

async function v2(url: string, mode: 'legacy' | 'auto' | { pin: string }): Promise<AnyClient> {
  const client = new ClientV2(INFO, { versionNegotiation: { mode } });
  await client.connect(new TransportV2(new URL(url)));
  return client;
}

let server: McpApp;
beforeAll(async () => {
  server = await bootMcp();
});
afterAll(() => server.close());

describe.each([
  ['the v1 client', v1],
  ['the v2 client, legacy', (url: string) => v2(url, 'legacy')],
  ['the v2 client, auto', (url: string) => v2(url, 'auto')],
  ['the v2 client, pinned to 2026-07-28', (url: string) => v2(url, { pin: '2026-07-28' })],
])('%s', (_name, connect) => {
  let client: AnyClient;
  beforeAll(async () => {
    client = await connect(server.url);
  });
  afterAll(() => client.close());

  it('learns the name of the service and the version of the package', () => {
    expect(client.getServerVersion()).toEqual({ name: 'servidor-de-prueba', version: '2.0.0' });
  });

  it('lists everything, sorted', async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['avisa', 'colgado', 'eco', 'falla', 'turnos']);
    expect(tools[2]).toEqual({
      name: 'eco',
      title: 'Eco',
      description: 'Devuelve el texto que recibe.',
      inputSchema: {
        type: 'object',
        properties: { texto: { type: 'string', maxLength: 40, description: 'Lo que se devuelve.' } },
        required: ['texto'],
        additionalProperties: false,
      },
      outputSchema: {
        type: 'object',
        properties: {
          longitud: { type: 'integer', minimum: -9007199254740991, maximum: 9007199254740991 },
          texto: { type: 'string' },
          nota: { type: ['string', 'null'] },
        },
        required: ['longitud', 'texto', 'nota'],
        additionalProperties: false,
      },
      annotations: { title: 'Eco', readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    });
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual(['data://prueba/dato', 'data://prueba/roto']);
    const { prompts } = await client.listPrompts();
    expect(prompts).toEqual([
      {
        name: 'saludo',
        title: 'Saludo',
        description: 'Saluda a alguien.',
        arguments: [
          { name: 'nombre', description: 'A quién se saluda.', required: false },
          { name: 'apodo', required: false },
        ],
      },
    ]);
  });

  it('gets the result as data and as the same JSON in one text, in the order of the payload', async () => {
    expect(await client.callTool({ name: 'eco', arguments: { texto: 'añejo' } })).toMatchObject({
      content: [{ type: 'text', text: '{"texto":"añejo","longitud":5,"nota":null}' }],
      structuredContent: { texto: 'añejo', longitud: 5, nota: null },
    });
  });

  it('gets nothing that the output schema does not name', async () => {
    const result = await client.callTool({ name: 'turnos', arguments: { nonce: 'n', turnos: 0 } });
    expect(Object.keys((result as { structuredContent: object }).structuredContent)).toEqual(['nonce', 'correlacion']);
  });

  it('reads a resource and renders a prompt with either of its arguments', async () => {
    expect(await client.readResource({ uri: 'data://prueba/dato' })).toMatchObject({
      contents: [{ uri: 'data://prueba/dato', mimeType: 'application/json', text: '{"ñ":1}' }],
    });
    const hello = (text: string) => ({
      description: 'Saluda a alguien.',
      messages: [{ role: 'user', content: { type: 'text', text } }],
    });
    expect(await client.getPrompt({ name: 'saludo', arguments: { nombre: 'Ana' } })).toMatchObject(hello('Hola, Ana.'));
    expect(await client.getPrompt({ name: 'saludo', arguments: { apodo: 'Ñeca' } })).toMatchObject(
      hello('Hola, Ñeca.'),
    );
  });

  it('is told of a business error and of invalid arguments as tool results, without structured content', async () => {
    const failed = await client.callTool({ name: 'falla', arguments: { modo: 'negocio' } });
    expect(failed).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'La fuente no está disponible.' }],
      _meta: { 'mcp-corp/error': { code: 'circuit_open', retry_after_seconds: 7 } },
    });
    expect(failed).not.toHaveProperty('structuredContent');
    for (const wrong of [{ texto: 7 }, { texto: 'x', otro: 1 }, {}, { texto: 'x'.repeat(41) }]) {
      expect(await client.callTool({ name: 'eco', arguments: wrong })).toMatchObject({
        isError: true,
        content: [{ type: 'text', text: INVALID_ARGUMENTS }],
        _meta: { 'mcp-corp/error': { code: 'invalid_arguments' } },
      });
    }
  });

  it('gets a masked text for a bug, in the method or in its result', async () => {
    for (const modo of ['bug', 'salida']) {
      expect(await client.callTool({ name: 'falla', arguments: { modo } })).toMatchObject({
        isError: true,
        content: [{ type: 'text', text: "Error calling tool 'falla'" }],
        _meta: { 'mcp-corp/error': { code: 'internal_error' } },
      });
    }
    await expect(client.readResource({ uri: 'data://prueba/roto' })).rejects.toMatchObject({
      code: -32603,
      message: expect.stringContaining("Error reading resource 'data://prueba/roto'"),
    });
  });

  it('gets -32602 for what is unknown and for a cursor', async () => {
    await expect(client.callTool({ name: 'nada', arguments: {} })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining("Unknown tool: 'nada'"),
    });
    await expect(client.getPrompt({ name: 'nada', arguments: {} })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining("Unknown prompt: 'nada'"),
    });
    await expect(client.readResource({ uri: 'data://nada' })).rejects.toMatchObject({
      code: -32602,
      data: { uri: 'data://nada' },
    });
    await expect(client.listTools({ cursor: 'abc' })).rejects.toMatchObject({ code: -32602 });
    await expect(client.getPrompt({ name: 'saludo', arguments: {} })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining(INVALID_ARGUMENTS),
    });
  });
});
