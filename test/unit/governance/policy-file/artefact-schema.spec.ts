import { describe, expect, it } from '@jest/globals';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import fc from 'fast-check';
import { ARTEFACT_SCHEMA } from '../../../../src/governance/policy-file/artefact-schema.js';
import { violations, type JsonSchema } from '../../../../src/governance/policy-file/json-schema.js';
import { artefacts, example } from '../core/artefacts.js';

/** Somebody else's validator, as an editor has one: the two must accept the same documents. */
const { $schema: _dialect, $id: _id, ...forAjv } = ARTEFACT_SCHEMA;
const editor = new AjvJsonSchemaValidator().getValidator(forAjv);
const editorAccepts = (value: unknown): boolean => editor(value).valid;
const serverAccepts = (value: unknown): boolean => violations(ARTEFACT_SCHEMA, value).length === 0;

const junk = fc.constantFrom<unknown>(
  null,
  true,
  0,
  -1,
  1.5,
  2,
  '',
  'x',
  'X',
  '1h',
  '0h',
  'env://X',
  [],
  [1],
  {},
  { kind: 'local' },
  { ref: 'env://A' },
  { id: 'a' },
);
const fields = fc.constantFrom(
  'id',
  'kind',
  'uri',
  'name',
  'ref',
  'per',
  'calls',
  'count',
  'omit',
  'subject',
  'equals',
  'deny',
  'toString',
  '__proto__',
  'disabled',
  'url',
  'command',
);

/** Every place inside a document. */
function places(value: unknown, at: readonly (string | number)[] = []): readonly (readonly (string | number)[])[] {
  if (typeof value !== 'object' || value === null) return [at];
  return [
    at,
    ...Object.entries(value).flatMap(([name, inner]) =>
      places(inner, [...at, Array.isArray(value) ? Number(name) : name]),
    ),
  ];
}

/** A copy with the place replaced, removed, or (for an object) with one more field. */
function changed(
  value: unknown,
  [head, ...rest]: readonly (string | number)[],
  how: 'replace' | 'remove' | 'add',
  field: string,
  by: unknown,
): unknown {
  if (head === undefined) {
    if (how === 'add' && typeof value === 'object' && value !== null && !Array.isArray(value))
      return Object.fromEntries([...Object.entries(value), [field, by]]);
    return by;
  }
  const entries = Object.entries(value as object).flatMap(([name, inner]): [string, unknown][] => {
    if (name !== String(head)) return [[name, inner]];
    if (rest.length === 0 && how === 'remove') return [];
    return [[name, changed(inner, rest, how, field, by)]];
  });
  return Array.isArray(value) ? entries.map(([, inner]) => inner) : Object.fromEntries(entries);
}

describe('the schema for editors', () => {
  it('accepts and refuses exactly what the server does', () => {
    const met = { accepted: 0, refused: 0 };
    const full = example((draft) => {
      draft.upstreams = [
        ...draft.upstreams!,
        {
          id: 'mesa',
          transport: { kind: 'mcp-http', url: 'https://mesa.example/mcp' },
          tools: [],
          resources: [{ name: 'x', capability: 'a' }],
        },
        { id: 'hijo', transport: { kind: 'mcp-stdio', command: 'x', args: ['y'] }, tools: [] },
      ];
      draft.grants = [
        ...draft.grants,
        {
          to: { issuer: 'agentes', attributes: { unidad: 'norte' } },
          capabilities: ['cliente.leer'],
          using: 'lector',
          limits: { calls: 0, per: '90s' },
          subject: { equals: 'cedula' },
          distinctSubjects: { count: 3, per: '7d' },
          omit: ['email'],
        },
      ];
    });
    const documents = fc.oneof(fc.constant(full), artefacts);
    fc.assert(
      fc.property(
        documents,
        fc.nat(),
        fc.constantFrom('replace', 'remove', 'add'),
        fields,
        junk,
        (document, die, how, field, by) => {
          const all = places(document);
          const value = changed(document, all[die % all.length]!, how, field, by);
          const accepted = serverAccepts(value);
          met[accepted ? 'accepted' : 'refused'] += 1;
          expect(accepted).toBe(editorAccepts(value));
        },
      ),
      { numRuns: 3_000 },
    );
    expect(met.accepted).toBeGreaterThan(50);
    expect(met.refused).toBeGreaterThan(500);
  });

  it('refuses a resource that is named twice, as an editor does', () => {
    const twice = example((draft) => {
      const own = draft.upstreams![0]!;
      const resources = [{ uri: 'data://x', name: 'x', capability: 'estados.leer' }] as never;
      draft.upstreams = [{ ...own, resources }];
    });
    expect([serverAccepts(twice), editorAccepts(twice)]).toEqual([false, false]);
  });

  it('refuses what fits two forms at once', () => {
    const loose: JsonSchema = { oneOf: [{ required: ['uri'] }, { required: ['name'] }] };
    expect(violations(loose, { uri: 'u' })).toEqual([]);
    expect(violations(loose, { uri: 'u', name: 'n' })).toEqual([
      { path: '', message: 'must be exactly one of its forms' },
    ]);
  });

  it('closes every object that has fields of its own', () => {
    const open: string[] = [];
    const walk = (schema: JsonSchema, at: string): void => {
      if (schema.type === 'object' && schema.additionalProperties === undefined) open.push(at);
      for (const [name, inner] of Object.entries({ ...schema.properties, ...schema.$defs }))
        walk(inner, `${at}/${name}`);
      for (const inner of [schema.items, ...(schema.oneOf ?? [])]) if (inner !== undefined) walk(inner, at);
    };
    walk(ARTEFACT_SCHEMA, '');
    expect(open).toEqual([]);
  });

  it('is plain JSON', () => {
    expect(JSON.parse(JSON.stringify(ARTEFACT_SCHEMA))).toEqual(ARTEFACT_SCHEMA);
  });

  it.each(['1h', '90s', '99999999d'])('knows %s as a window', (per) => {
    expect(violations({ ...ARTEFACT_SCHEMA, $ref: '#/$defs/window' }, per)).toEqual([]);
  });

  it.each(['0h', '1w', '1', 'h', '1.5h', ' 1h', '100000000d', '1h\n'])('does not know %p as a window', (per) => {
    expect(violations({ ...ARTEFACT_SCHEMA, $ref: '#/$defs/window' }, per)).toHaveLength(1);
  });
});
