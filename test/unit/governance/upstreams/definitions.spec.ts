import { describe, expect, it } from '@jest/globals';
import { digestOf } from '../../../../src/connectors/mcp/tool-definition.js';
import { checkedArguments } from '../../../../src/governance/upstreams/arguments.js';
import { declaredCatalogue, declaredText } from '../../../../src/governance/upstreams/declared-catalogue.js';
import { flawsOf, visibleText } from '../../../../src/governance/upstreams/flaws.js';
import { upstreamTool } from '../../../../src/governance/upstreams/upstream-tools.js';

const TOOL = {
  name: 'suma',
  description: 'Suma',
  inputSchema: { type: 'object', properties: { a: { type: 'number' } } },
};

describe('the digest of a definition', () => {
  it('is of what it says, whatever the order of its keys and whatever else comes with it', () => {
    const { name, inputSchema, description } = TOOL;
    expect(digestOf({ inputSchema, description, name, _meta: { a: 1 } } as never)).toBe(digestOf(TOOL));
    expect(digestOf({ ...TOOL, description: 'Resta' })).not.toBe(digestOf(TOOL));
    expect(digestOf({ ...TOOL, annotations: { destructiveHint: true } })).not.toBe(digestOf(TOOL));
  });
});

describe('a declared catalogue', () => {
  it('is read as it was written, sorted and pinned', () => {
    const tools = new Map([
      ['b', [upstreamTool(TOOL)]],
      ['a', [upstreamTool({ name: 'z' }), upstreamTool(TOOL)]],
    ]);
    const text = declaredText(tools);
    expect([...text.matchAll(/ (?:upstream|name): (\w+)$/gm)].map(([, word]) => word)).toEqual([
      'a',
      'suma',
      'a',
      'z',
      'b',
      'suma',
    ]);
    const read = declaredCatalogue(text);
    expect(read.get('b')?.[0]).toMatchObject({ definition: TOOL, pin: digestOf(TOOL), flaws: [] });
  });

  it.each([
    ['', 'version must be 1'],
    ['version: 1', 'tools must be a list'],
    ['version: 1\ntools: [{ name: a }]', 'tools[0]: upstream must be a text'],
    ['version: 1\ntools: [{ upstream: a, name: b }, { upstream: a, name: 7 }]', 'tools[1]: name must be a text'],
    ['version: 1\ntools: [{ upstream: a, name: b }, { upstream: a, name: b }]', 'tools[1]: its name is there twice'],
    ['version: 1\ntools: [{ upstream: a, name: b, digest: sha256:0 }]', 'tools[0]: digest must be'],
    ['tools: [', 'line 1'],
  ])('is a failure and never an empty list: %j', (text, message) => {
    expect(() => declaredCatalogue(text)).toThrow(message);
  });

  it('knows a definition that is not the one it pins', () => {
    const [tool] =
      declaredCatalogue(declaredText(new Map([['a', [upstreamTool(TOOL)]]])).replace('Suma', 'Resta')).get('a') ?? [];
    expect(tool).toMatchObject({ problem: 'definition_changed' });
  });
});

describe('a definition that clients must not be given', () => {
  it.each([
    ['a tag that nobody sees', { ...TOOL, description: 'Suma\u{e0041}' }],
    ['a direction of writing turned round', { ...TOOL, title: 'a\u202eb' }],
    ['a hidden key of a schema', { ...TOOL, inputSchema: { type: 'object', properties: { 'a\u200b': {} } } }],
    ['arguments that are no object', { ...TOOL, inputSchema: { type: 'string' } }],
    ['a header declaration', { ...TOOL, inputSchema: { type: 'object', properties: { a: { 'x-mcp-header': 'A' } } } }],
    ['an output that is no object', { ...TOOL, outputSchema: { type: 'array' } }],
    ['a description that is no text', { ...TOOL, description: 7 }],
    ['too much of it', { ...TOOL, description: 'x'.repeat(70_000) }],
  ])('has %s', (_what, definition) => {
    expect(flawsOf(definition)).not.toEqual([]);
    expect(upstreamTool(definition).problem).toBe('definition_unusable');
  });

  it('is not one with line breaks, accents, emoji and joiners', () => {
    expect(flawsOf({ ...TOOL, description: 'Línea\n👨‍👩‍👧 می‌خواهم\té' })).toEqual([]);
    expect(flawsOf({ name: 'a' })).toEqual([]);
    expect(visibleText('Su\u200bma\u{e0041} dos')).toBe('Suma dos');
  });
});

describe('arguments for somebody else', () => {
  const schema = {
    type: 'object',
    properties: {
      a: { type: 'integer' },
      b: { type: ['string', 'null'], pattern: '^(a+)+$' },
      c: { type: 'array', items: { type: 'object', required: ['d'] } },
    },
    required: ['a'],
    additionalProperties: false,
  };
  const fits = (input: unknown, limit = 1_000): boolean => {
    try {
      checkedArguments(schema, input, limit);
      return true;
    } catch {
      return false;
    }
  };

  it('must have the shape, and no foreign pattern is run', () => {
    expect(fits({ a: 1, b: `${'a'.repeat(40)}!`, c: [{ d: 1, e: 2 }] })).toBe(true);
    expect(fits({ a: 1, b: null })).toBe(true);
    for (const wrong of [
      {},
      undefined,
      null,
      [],
      'a',
      { a: 1.5 },
      { a: '1' },
      { a: 1, b: 2 },
      { a: 1, z: 1 },
      { a: 1, c: [{}] },
    ])
      expect([wrong, fits(wrong)]).toEqual([wrong, false]);
  });

  it('must be neither too large nor too deep', () => {
    expect(fits({ a: 1, b: 'x'.repeat(2_000) })).toBe(false);
    let deep: unknown = { d: 1 };
    for (let level = 0; level < 40; level += 1) deep = { d: deep };
    expect(fits({ a: 1, c: [deep] }, 100_000)).toBe(false);
  });
});
