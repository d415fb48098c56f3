import { Injectable } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import type { CompiledEntry } from '../../../src/mcp/catalogue-entry.js';
import { CHANGE_BUS } from '../../../src/mcp/changes.js';
import { CONTENT, audio, content, embedded, image, text, type Message } from '../../../src/mcp/content.js';
import { McpPrompt, McpResource, McpResourceTemplate, McpTool } from '../../../src/mcp/decorators.js';
import type { Prompt, Resource, ResourceFamily, Tool } from '../../../src/mcp/decorators.js';
import { CallError } from '../../../src/mcp/errors.js';
import { VISIBILITY, type Visibility } from '../../../src/mcp/ports.js';
import { bootMcp, type McpApp } from '../../support/mcp-app.js';
import { legacy, modern } from '../../support/mcp-http.js';

const BYTES = new Uint8Array([0, 255, 1]);
const annotations = { readOnlyHint: true, idempotentHint: true, openWorldHint: false };
const tool = { title: 't', description: 'd', input: z.strictObject({}), output: CONTENT, requires: [], annotations };

@McpTool({ ...tool, name: 'bloques' })
@Injectable()
class Bloques implements Tool<unknown, unknown> {
  async call(): Promise<unknown> {
    const resource = embedded('data://x', 'text/plain', 'cuerpo');
    return content(text('hola'), image(BYTES, 'image/png'), audio(BYTES, 'audio/wav'), resource);
  }
}

@McpTool({ ...tool, name: 'datos_sueltos' })
@Injectable()
class DatosSueltos implements Tool<unknown, unknown> {
  async call(): Promise<unknown> {
    return { nadie: 'lo ha comprobado' };
  }
}

@McpResource({ uri: 'data://bytes', name: 'b', title: 'b', description: 'b', mimeType: 'image/png', requires: [] })
@Injectable()
class Bytes implements Resource {
  read(): Uint8Array {
    return BYTES;
  }
}

const family = { name: 'f', title: 'f', description: 'f', mimeType: 'application/json', requires: [] };

@McpResourceTemplate({
  ...family,
  uriTemplate: 'data://fichas/{id}/{parte}',
  input: z.strictObject({ id: z.string().max(5), parte: z.enum(['saldo', 'datos']) }),
})
@Injectable()
class Fichas implements ResourceFamily<{ id: string; parte: string }> {
  subject(input: unknown): string | null {
    return String((input as { id: unknown }).id).toUpperCase();
  }

  read({ id, parte }: { id: string; parte: string }): string {
    if (id === 'nadie') throw new CallError('not_found', 'No existe.');
    return JSON.stringify({ id, parte });
  }
}

@McpPrompt({
  name: 'charla',
  title: 'c',
  description: 'c',
  input: z.strictObject({ ciudad: z.string().meta({ examples: ['Caracas', 'Coro', 'Mérida'] }), libre: z.string() }),
  requires: [],
})
@Injectable()
class Charla implements Prompt<{ ciudad: string; libre: string }> {
  render({ ciudad }: { ciudad: string }): Message[] {
    return [
      { role: 'user', content: text(`¿Qué tal ${ciudad}?`) },
      { role: 'assistant', content: image(BYTES, 'image/png') },
    ];
  }
}

const CLASSES = [Bloques, DatosSueltos, Bytes, Fichas, Charla];
let server: McpApp;
beforeAll(async () => {
  server = await bootMcp({ classes: CLASSES });
});
afterAll(() => server.close());

describe('a tool without data', () => {
  it('answers with blocks, and declares no output schema', async () => {
    const { tools } = (await modern(server.url, 'tools/list')).json.result as { tools: { name: string }[] };
    expect(tools.find(({ name }) => name === 'bloques')).not.toHaveProperty('outputSchema');
    const { result } = (await modern(server.url, 'tools/call', { name: 'bloques' })).json;
    expect(result).toMatchObject({
      content: [
        { type: 'text', text: 'hola' },
        { type: 'image', data: 'AP8B', mimeType: 'image/png' },
        { type: 'audio', data: 'AP8B', mimeType: 'audio/wav' },
        { type: 'resource', resource: { uri: 'data://x', mimeType: 'text/plain', text: 'cuerpo' } },
      ],
    });
    expect(result).not.toHaveProperty('structuredContent');
  });

  it('cannot give data that no schema has checked', async () => {
    const { result } = (await modern(server.url, 'tools/call', { name: 'datos_sueltos' })).json;
    expect(result).toMatchObject({ isError: true, content: [{ text: "Error calling tool 'datos_sueltos'" }] });
  });
});

describe('resources', () => {
  it('may be bytes', async () => {
    const { result } = (await modern(server.url, 'resources/read', { uri: 'data://bytes' })).json;
    expect(result['contents']).toEqual([{ uri: 'data://bytes', mimeType: 'image/png', blob: 'AP8B' }]);
  });

  it('of a family are listed as a template, and read by their own URI', async () => {
    const list = (await modern(server.url, 'resources/templates/list')).json.result;
    expect(list['resourceTemplates']).toMatchObject([{ uriTemplate: 'data://fichas/{id}/{parte}', name: 'f' }]);
    expect((await modern(server.url, 'resources/list')).json.result['resources']).toHaveLength(1);
    const uri = 'data://fichas/a%20b/saldo';
    for (const read of [modern, legacy]) {
      const { result } = (await read(server.url, 'resources/read', { uri })).json;
      expect(result['contents']).toEqual([{ uri, mimeType: 'application/json', text: '{"id":"a b","parte":"saldo"}' }]);
    }
  });

  it('of a family are recorded under the template: a URI can hold an identifier', async () => {
    await modern(server.url, 'resources/read', { uri: 'data://fichas/v123/saldo' });
    const { call } = server.witness.ended.at(-1) ?? {};
    expect([call?.name, call?.subject()]).toEqual(['data://fichas/{id}/{parte}', 'V123']);
  });

  it.each([
    ['a variable that its schema refuses', 'data://fichas/demasiado/saldo', 'invalid_arguments'],
    ['another part', 'data://fichas/a/otra', 'invalid_arguments'],
    ['nobody', 'data://fichas/nadie/saldo', 'not_found'],
  ])('of a family answer -32602 with the URI to %s', async (_what, uri, code) => {
    const { error } = (await modern(server.url, 'resources/read', { uri })).json;
    expect(error).toMatchObject({ code: -32602, data: { uri, code } });
    expect(server.witness.ended.at(-1)).toMatchObject({ error: { code } });
  });

  it('of another shape are unknown', async () => {
    const { error } = (await modern(server.url, 'resources/read', { uri: 'data://fichas/a' })).json;
    expect(error).toMatchObject({ code: -32602, message: "Unknown resource: 'data://fichas/a'" });
  });

  it.each([
    ['that its schema does not know', z.strictObject({ id: z.string() }), 'input.parte must be a required string'],
    [
      'that are not in it',
      z.strictObject({ id: z.string(), parte: z.string(), mas: z.string() }),
      'input.mas is not in',
    ],
    ['that are no text', z.strictObject({ id: z.number(), parte: z.string() }), 'input.id must be a required string'],
  ])('of a family cannot have variables %s', async (_which, input, problem) => {
    @McpResourceTemplate({ ...family, uriTemplate: 'data://fichas/{id}/{parte}', input })
    @Injectable()
    class Mal implements ResourceFamily<unknown> {
      read(): string {
        return '';
      }
    }
    await expect(bootMcp({ classes: [Mal] })).rejects.toThrow(problem);
  });
});

describe('a prompt', () => {
  it('may be several messages of any kind', async () => {
    const params = { name: 'charla', arguments: { ciudad: 'Coro', libre: '' } };
    expect((await modern(server.url, 'prompts/get', params)).json.result['messages']).toEqual([
      { role: 'user', content: { type: 'text', text: '¿Qué tal Coro?' } },
      { role: 'assistant', content: { type: 'image', data: 'AP8B', mimeType: 'image/png' } },
    ]);
  });
});

describe('completion', () => {
  const complete = (ref: object, name: string, value: string, url = server.url) =>
    modern(url, 'completion/complete', { ref, argument: { name, value } });
  const charla = { type: 'ref/prompt', name: 'charla' };
  const fichas = { type: 'ref/resource', uri: 'data://fichas/{id}/{parte}' };

  it('offers what the schemas name, in both eras, and nothing for free text', async () => {
    const values = async (...args: Parameters<typeof complete>) =>
      ((await complete(...args)).json.result['completion'] as { values: string[] }).values;
    expect(await values(charla, 'ciudad', 'c')).toEqual(['Caracas', 'Coro']);
    expect(await values(charla, 'libre', 'c')).toEqual([]);
    expect(await values(fichas, 'parte', '')).toEqual(['saldo', 'datos']);
    const params = { ref: charla, argument: { name: 'ciudad', value: 'M' } };
    const old = (await legacy(server.url, 'completion/complete', params)).json.result;
    expect(old).toEqual({ completion: { values: ['Mérida'], total: 1, hasMore: false } });
  });

  it('is announced where there is something to offer', async () => {
    const { result } = (await modern(server.url, 'server/discover')).json;
    expect(result).toMatchObject({ capabilities: { completions: {} } });
    const bare = await bootMcp({ classes: [Bytes] });
    try {
      const { result: discovered } = (await modern(bare.url, 'server/discover')).json;
      expect(discovered['capabilities']).not.toHaveProperty('completions');
    } finally {
      await bare.close();
    }
  });

  it.each([
    [{ type: 'ref/prompt', name: 'otra' }, "Unknown prompt: 'otra'"],
    [{ type: 'ref/resource', uri: 'data://bytes' }, "Unknown resource: 'data://bytes'"],
  ])('refuses %j with -32602', async (ref, message) => {
    expect((await complete(ref, 'a', '')).json.error).toMatchObject({ code: -32602, message });
  });

  it('offers nothing of what the caller does not see', async () => {
    const visibility: Visibility = {
      view: ({ credential }) => ({
        key: credential,
        sees: (entry: CompiledEntry) => credential === 'jefa' || entry.kind !== 'prompt',
      }),
    };
    const guarded = await bootMcp({ classes: CLASSES, providers: [{ provide: VISIBILITY, useValue: visibility }] });
    try {
      expect((await complete(charla, 'ciudad', '', guarded.url)).json.error).toMatchObject({ code: -32602 });
    } finally {
      await guarded.close();
    }
  });
});

describe('subscriptions of the 2025 era', () => {
  it('are accepted for what exists, where changes are announced', async () => {
    const bus = { publish: () => undefined, subscribe: () => () => undefined };
    const live = await bootMcp({ classes: CLASSES, providers: [{ provide: CHANGE_BUS, useValue: bus }] });
    try {
      for (const method of ['resources/subscribe', 'resources/unsubscribe']) {
        expect((await legacy(live.url, method, { uri: 'data://bytes' })).json.result).toEqual({});
        expect((await legacy(live.url, method, { uri: 'data://otra' })).json.error).toMatchObject({ code: -32602 });
        expect((await modern(live.url, method, { uri: 'data://bytes' })).status).toBe(404);
      }
    } finally {
      await live.close();
    }
  });

  it('say nothing of what the caller does not see: it answers as what does not exist', async () => {
    const bus = { publish: () => undefined, subscribe: () => () => undefined };
    const visibility: Visibility = {
      view: ({ credential }) => ({
        key: credential,
        sees: (entry: CompiledEntry) => credential === 'jefa' || entry.kind !== 'resource',
      }),
    };
    const providers = [
      { provide: CHANGE_BUS, useValue: bus },
      { provide: VISIBILITY, useValue: visibility },
    ];
    const live = await bootMcp({ classes: CLASSES, providers });
    try {
      for (const uri of ['data://bytes', 'data://fichas/1/saldo']) {
        const other = { headers: { authorization: 'Bearer jefa' } };
        expect((await legacy(live.url, 'resources/subscribe', { uri }, other)).json.result).toEqual({});
        expect((await legacy(live.url, 'resources/subscribe', { uri })).json.error).toMatchObject({
          ...{ code: -32602, message: `Unknown resource: '${uri}'` },
        });
      }
    } finally {
      await live.close();
    }
  });
});
