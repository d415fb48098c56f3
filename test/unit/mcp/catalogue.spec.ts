import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable, UseGuards, UseInterceptors, type Type } from '@nestjs/common';
import { z, type ZodType } from 'zod';
import { Catalogue } from '../../../src/mcp/catalogue.js';
import type { CompiledEntry } from '../../../src/mcp/catalogue-entry.js';
import { CatalogueViews } from '../../../src/mcp/catalogue-views.js';
import { McpPrompt, McpResource, McpTool } from '../../../src/mcp/decorators.js';
import { CallError } from '../../../src/mcp/errors.js';
import { CATALOGUE_SOURCES, VISIBILITY } from '../../../src/mcp/ports.js';
import { bootMcp, Witness, type McpApp, type McpAppOptions } from '../../support/mcp-app.js';
import { FIXTURES } from '../../support/mcp-fixtures.js';
import { legacy, modern } from '../../support/mcp-http.js';

let server: McpApp | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

interface Parts {
  readonly name?: string;
  readonly input?: ZodType;
  readonly output?: ZodType;
  readonly outcome?: (result: never) => 'success' | 'partial';
}

function tool({ name = 'una', input = z.strictObject({}), output = z.strictObject({}), outcome }: Parts = {}): Type {
  @Injectable()
  class Made {
    async call(): Promise<unknown> {
      return {};
    }
  }
  const annotations = { readOnlyHint: true, idempotentHint: true, openWorldHint: false };
  McpTool({ name, title: 't', description: 'd', input, output, requires: [], annotations, outcome })(Made);
  return Made;
}

const start = async (options: McpAppOptions): Promise<void> => {
  server = await bootMcp(options);
};

describe('the start', () => {
  it('fails with the name of every entry that cannot be served and everything that is wrong with it', async () => {
    const classes = [
      tool({ name: 'con espacio', input: z.object({ a: z.union([z.string(), z.number()]) }) }),
      tool({ name: 'fecha', output: z.strictObject({ a: z.date() }) }),
    ];
    const problems = await start({ classes }).catch((error: Error) => error.message.split('\n'));
    expect(problems).toEqual([
      "tool 'con espacio': name must have 1 to 64 characters of A-Z a-z 0-9 _ -",
      "tool 'con espacio': input must refuse unknown properties (additionalProperties: false; in zod, strictObject)",
      "tool 'con espacio': input.a is a union of types",
      "tool 'fecha': output cannot be written as JSON Schema: Date cannot be represented in JSON Schema",
    ]);
  });

  it('fails with two entries of one name, of classes or of other sources', async () => {
    await expect(start({ classes: [tool(), tool()] })).rejects.toThrow("tool 'una': there are two of them");
    const source = { entries: () => [entry('una')] };
    const providers = [{ provide: CATALOGUE_SOURCES, useValue: [source] }];
    await expect(start({ classes: [tool()], providers })).rejects.toThrow("tool 'una': there are two of them");
    await expect(start({ classes: [tool({ name: 'unknown' })] })).rejects.toThrow(
      "tool 'unknown': the name stands for",
    );
  });

  it('fails with prompts that take more than texts and resources without a URI', async () => {
    class Bad {}
    McpPrompt({ name: 'p', title: 't', description: 'd', input: z.strictObject({ n: z.number() }), requires: [] })(Bad);
    await expect(start({ classes: [Bad] })).rejects.toThrow("prompt 'p': input.n must be a string");
    class Worse {}
    McpResource({ uri: 'no es', name: 'n', title: 't', description: 'd', mimeType: 'm', requires: [] })(Worse);
    await expect(start({ classes: [Worse] })).rejects.toThrow("resource 'no es': uri must be an absolute URI");
  });

  it('fails when the steps do not validate', async () => {
    await expect(start({ steps: () => [new Witness()] })).rejects.toThrow('CALL_STEPS must hold ValidateInterceptor');
  });

  it('fails with a class that brings enhancers of its own: they would run outside of the audit', async () => {
    const guarded = tool();
    UseGuards({ canActivate: () => true })(guarded);
    await expect(start({ classes: [guarded] })).rejects.toThrow('CALL_STEPS is the one list');
    const intercepted = tool();
    const method = Object.getOwnPropertyDescriptor(intercepted.prototype, 'call');
    UseInterceptors(new Witness())(intercepted.prototype as object, 'call', method ?? {});
    await expect(start({ classes: [intercepted] })).rejects.toThrow('CALL_STEPS is the one list');
  });
});

function entry(name: string, over: Partial<CompiledEntry> = {}): CompiledEntry {
  return {
    kind: 'tool',
    name,
    definition: { name, inputSchema: { type: 'object', $schema: 'x', allOf: [] } },
    requires: [],
    parts: [],
    outcome: () => 'success',
    subject: () => null,
    validate: (input) => input,
    run: async (call) => ({ content: [{ type: 'text', text: JSON.stringify(call.input) }] }),
    ...over,
  };
}

describe('entries that are no classes', () => {
  it('are listed with their own schemas and walk the same steps', async () => {
    const source = { entries: () => [entry('ajena', { validate: () => ({ cambiado: true }) })] };
    server = await bootMcp({ providers: [{ provide: CATALOGUE_SOURCES, useValue: [source] }] });
    const { json } = await legacy(server.url, 'tools/list');
    expect((json.result['tools'] as { name: string }[]).map(({ name }) => name)).toEqual([
      'ajena',
      'avisa',
      'colgado',
      'eco',
      'falla',
      'turnos',
    ]);
    const called = await modern(server.url, 'tools/call', { name: 'ajena', arguments: { x: 1 } });
    expect(called.json.result).toMatchObject({ content: [{ text: '{"cambiado":true}' }] });
    expect(server.witness.begun.map(({ name }) => name)).toEqual(['ajena']);
  });

  it('may not declare headers that nobody would check', async () => {
    const definition = {
      name: 'x',
      inputSchema: { type: 'object', properties: { a: { type: 'string', 'x-mcp-header': 'A' } } },
    };
    const providers = [{ provide: CATALOGUE_SOURCES, useValue: [{ entries: () => [entry('x', { definition })] }] }];
    await expect(start({ providers })).rejects.toThrow("tool 'x': uses x-mcp-header");
  });
});

describe('what a caller sees', () => {
  it('is decided by the bound visibility, from the caller, and rendered once per view', async () => {
    const asked: string[] = [];
    const visibility = {
      view: ({ credential }: { credential: string }) => ({
        key: credential,
        sees: ({ name }: CompiledEntry) => {
          asked.push(name);
          return name === 'eco' || credential === 'todo';
        },
      }),
    };
    server = await bootMcp({ providers: [{ provide: VISIBILITY, useValue: visibility }] });
    const names = async (credential: string) => {
      const headers = { authorization: `Bearer ${credential}` };
      const { json } = await legacy(server?.url ?? '', 'tools/list', {}, { headers });
      return (json.result['tools'] as { name: string }[]).map(({ name }) => name);
    };
    expect(await names('poco')).toEqual(['eco']);
    expect(await names('todo')).toHaveLength(5);
    const before = asked.length;
    expect(await names('poco')).toEqual(['eco']);
    expect(asked.length).toBe(before);
  });

  it('is nothing for a caller who may not list at all', async () => {
    const view = () => {
      throw new CallError('unauthenticated', 'Falta la credencial.', { jsonRpcCode: 4001 });
    };
    server = await bootMcp({ providers: [{ provide: VISIBILITY, useValue: { view } }] });
    for (const method of ['tools/list', 'resources/list', 'prompts/list']) {
      expect((await modern(server.url, method)).json.error).toEqual({
        code: 4001,
        message: 'Falta la credencial.',
        data: { code: 'unauthenticated' },
      });
    }
  });

  it('is kept for so many views and no more: an outsider decides how many there are', async () => {
    const { signal } = new AbortController();
    let made = 0;
    const entries = { tool: [entry('a')], resource: [], template: [], prompt: [] };
    const views = new CatalogueViews(entries, {
      view: ({ credential }) => ({ key: credential, sees: () => ++made > 0 }),
    });
    for (let n = 0; n < 257; n++) await views.definitions('tool', { credential: String(n) }, signal);
    expect(made).toBe(257);
    await views.definitions('tool', { credential: '256' }, signal);
    expect(made).toBe(257);
    await views.definitions('tool', { credential: '0' }, signal);
    expect(made).toBe(258);
  });
});

describe('a compiled entry', () => {
  it('judges the outcome by the payload that the tool gave', async () => {
    const outcome = ({ completo }: { completo: boolean }) => (completo ? 'success' : 'partial');
    const made = tool({ outcome, output: z.strictObject({ completo: z.boolean() }) });
    server = await bootMcp({ classes: [made] });
    const found = server.get(Catalogue).find('tool', 'una');
    expect(found.outcome({ structuredContent: { completo: false } })).toBe('partial');
    expect(found.outcome({ structuredContent: { completo: true } })).toBe('success');
  });

  it('has the text of its list ready, and it is what JSON.stringify would write', async () => {
    server = await bootMcp({ classes: FIXTURES });
    const catalogue = server.get(Catalogue);
    const definitions = await catalogue.definitions('tool', { credential: '' }, new AbortController().signal);
    expect(catalogue.serialised(definitions)).toBe(JSON.stringify(definitions));
    expect(catalogue.serialised([...definitions])).toBeUndefined();
    for (const post of [legacy, modern]) {
      const { text, json } = await post(server.url, 'tools/list');
      expect(json.result['tools']).toEqual(definitions);
      // Key by key what the SDK would have written, list first.
      expect(Object.keys(json.result)[0]).toBe('tools');
      expect(JSON.parse(text)).toEqual(json);
    }
  });
});
