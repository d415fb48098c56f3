import { describe, expect, it } from '@jest/globals';
import { z, type ZodType } from 'zod';
import { inputSchemaOf, onlyChecks, outputSchemaOf } from '../../../src/mcp/json-schema.js';
import { lintInput, lintName, lintOutput, lintPromptInput } from '../../../src/mcp/schema-lint.js';

describe('the lint of inputs', () => {
  it.each<[string, ZodType]>([
    ['texts with limits', z.strictObject({ a: z.string().max(20).regex(/^x/).describe('d') })],
    [
      'numbers, booleans, enums, literals',
      z.strictObject({ a: z.number().int(), b: z.boolean(), c: z.enum(['x', 'y']), d: z.literal('z') }),
    ],
    [
      'optional and nested objects, arrays of them',
      z.strictObject({ a: z.array(z.strictObject({ b: z.string() })).optional() }),
    ],
    ['rules that JSON Schema cannot say', z.strictObject({ a: z.string().optional() }).refine(() => true)],
    ['nothing at all', z.strictObject({})],
  ])('accepts %s', (_what, schema) => {
    expect(lintInput(inputSchemaOf(schema))).toEqual([]);
  });

  it.each<[string, ZodType, string]>([
    ['an open object', z.object({}), 'input must refuse unknown properties'],
    ['an open object inside', z.strictObject({ a: z.object({}) }), 'input.a must refuse unknown properties'],
    ['a loose object', z.looseObject({}), 'input must refuse unknown properties'],
    [
      'an open object in an array',
      z.strictObject({ a: z.array(z.object({})) }),
      'input.a[] must refuse unknown properties',
    ],
    ['a text at the top', z.string(), 'input must be an object at the top'],
    ['an array at the top', z.array(z.string()), 'input must be an object at the top'],
    ['a union', z.strictObject({ a: z.union([z.string(), z.number()]) }), 'input.a is a union of types'],
    [
      'a union of objects',
      z.discriminatedUnion('k', [z.strictObject({ k: z.literal('a') }), z.strictObject({ k: z.literal('b') })]),
      'input uses oneOf',
    ],
    ['an intersection', z.strictObject({ a: z.intersection(z.string(), z.string().max(1)) }), 'input.a uses allOf'],
    ['null', z.strictObject({ a: z.string().nullable() }), 'input.a is a union of types'],
    ['nothing but null', z.strictObject({ a: z.null() }), 'input.a is always null'],
    ['anything', z.strictObject({ a: z.unknown() }), 'input.a has no type'],
    ['never', z.strictObject({ a: z.never().optional() }), 'input.a uses not'],
    ['a map', z.strictObject({ a: z.record(z.string(), z.string()) }), 'input.a must refuse unknown properties'],
    ['a tuple', z.strictObject({ a: z.tuple([z.string()]) }), 'input.a is a tuple'],
    ['a recursive schema', recursive(), 'uses $ref'],
    [
      'a header declaration',
      z.strictObject({ a: z.string().meta({ 'x-mcp-header': 'A' }) }),
      'input.a uses x-mcp-header',
    ],
  ])('refuses %s', (_what, schema, problem) => {
    expect(lintInput(inputSchemaOf(schema)).join('\n')).toContain(problem);
  });

  it('refuses boolean schemas and dialects, which only a hand-written schema can have', () => {
    const closed = { type: 'object', additionalProperties: false };
    expect(lintInput({ ...closed, properties: { a: true } })).toEqual(['input.a is a boolean schema: say what it is']);
    expect(lintInput({ ...closed, $schema: 'http://json-schema.org/draft-07/schema#' })).toEqual([
      'input names a dialect ($schema)',
    ]);
  });
});

function recursive(): ZodType {
  const node = z.strictObject({
    get child(): ZodType {
      return node.optional();
    },
  });
  return node;
}

describe('the lint of outputs', () => {
  it('accepts null as the only union, written as a type', () => {
    const schema = outputSchemaOf(
      z.object({
        text: z.string().nullable().describe('d'),
        object: z.object({ a: z.number() }).nullable(),
        word: z.enum(['x', 'y']).nullable(),
        one: z.literal('z').nullable(),
        first: z.union([z.null(), z.string()]),
        last: z.union([z.null(), z.object({})]),
      }),
    );
    expect(lintOutput(schema)).toEqual([]);
    expect(schema['properties']).toEqual({
      text: { type: ['string', 'null'], description: 'd' },
      object: {
        type: ['object', 'null'],
        properties: { a: { type: 'number' } },
        required: ['a'],
        additionalProperties: false,
      },
      word: { type: ['string', 'null'], enum: ['x', 'y', null] },
      one: { type: ['string', 'null'], enum: ['z', null] },
      first: { type: ['string', 'null'] },
      last: { type: ['object', 'null'], properties: {}, additionalProperties: false },
    });
    expect(schema).not.toHaveProperty('$schema');
  });

  it.each<[string, ZodType, string]>([
    ['a union', z.object({ a: z.union([z.string(), z.number()]) }), 'output.a may be united with null only'],
    [
      'a union with null and more',
      z.object({ a: z.union([z.string(), z.number(), z.null()]) }),
      'output.a may be united with null only',
    ],
    [
      'a nullable union',
      z.object({ a: z.union([z.string(), z.number()]).nullable() }),
      'output.a may be united with null only',
    ],
    ['an object that may hold anything', z.looseObject({}), 'output must refuse unknown properties'],
    ['a union with objects', z.object({ a: z.union([z.string(), z.object({})]) }), 'output.a uses anyOf'],
    ['a list at the top', z.array(z.string()), 'output must be an object at the top'],
  ])('refuses %s', (_what, schema, problem) => {
    expect(lintOutput(outputSchemaOf(schema)).join('\n')).toContain(problem);
  });
});

describe('the other lints', () => {
  it.each([
    ['consultar_cliente', true],
    ['A-1_b', true],
    ['x'.repeat(64), true],
    ['x'.repeat(65), false],
    ['', false],
    ['con espacio', false],
    ['con.punto', false],
    ['ñandú', false],
  ])('name %j: %s', (name, good) => {
    expect(lintName(name).length === 0).toBe(good);
  });

  it('lets prompts take texts only', () => {
    const closed = z.strictObject({ a: z.string().optional(), b: z.number() });
    expect(lintPromptInput(inputSchemaOf(closed))).toEqual([
      'input.b must be a string: prompts take no other arguments',
    ]);
  });

  it('know a schema that only checks from one that drops or fills in', () => {
    expect(onlyChecks(z.strictObject({ a: z.string().nullable() }))).toBe(true);
    expect(onlyChecks(z.object({ a: z.string() }))).toBe(false);
    expect(onlyChecks(z.strictObject({ a: z.string().default('x') }))).toBe(false);
    expect(onlyChecks(z.strictObject({ a: z.object({ b: z.string() }) }))).toBe(false);
  });
});
