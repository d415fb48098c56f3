/**
 * The part of JSON Schema 2020-12 that the artefact's schema is written in, and its one interpreter. Editors and the
 * server read the same object, so they cannot disagree; a keyword the interpreter does not know does not compile.
 */
import { pointer } from '../core/index.js';

export interface JsonSchema {
  readonly $schema?: string;
  readonly $id?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
  /** `#/$defs/<name>`. */
  readonly $ref?: string;
  readonly title?: string;
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly default?: unknown;
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'boolean';
  readonly const?: string | number;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: false | JsonSchema;
  /** Object alternatives; the one that shares most with the value speaks for all of them when none fits. */
  readonly oneOf?: readonly JsonSchema[];
}

export interface Violation {
  readonly path: string;
  /** Says what is expected; never quotes a value, which may be a secret in the wrong place. */
  readonly message: string;
}

/** Every violation, the deepest places first (a field before its containers), each (place, message) once. */
export function violations(root: JsonSchema, value: unknown): readonly Violation[] {
  const found = new Map<string, Violation>();
  for (const violation of check(root, root, value, [])) {
    const entry = { path: pointer(...violation.at), message: violation.message };
    found.set(`${entry.path} ${entry.message}`, entry);
  }
  const depth = ({ path }: Violation): number => path.split('/').length;
  return [...found.values()].sort((one, other) => depth(other) - depth(one));
}

type Place = readonly (string | number)[];

interface Found {
  readonly at: Place;
  readonly message: string;
}

function check(root: JsonSchema, schema: JsonSchema, value: unknown, at: Place): readonly Found[] {
  if (schema.$ref !== undefined) return check(root, definition(root, schema.$ref), value, at);
  if (schema.const !== undefined && value !== schema.const)
    return [{ at, message: `must be ${JSON.stringify(schema.const)}` }];
  if (schema.enum !== undefined && !schema.enum.some((allowed) => allowed === value))
    return [{ at, message: `must be one of ${schema.enum.join(', ')}` }];
  if (schema.type !== undefined && typeOf(value, schema.type) !== schema.type)
    return [
      {
        at,
        message: `must be ${schema.type === 'object' || schema.type === 'array' || schema.type === 'integer' ? 'an' : 'a'} ${schema.type}`,
      },
    ];
  const found: Found[] = [];
  if (typeof value === 'string') found.push(...checkString(schema, value, at));
  if (typeof value === 'number') found.push(...checkNumber(schema, value, at));
  if (Array.isArray(value)) found.push(...checkArray(root, schema, value, at));
  else if (typeof value === 'object' && value !== null) found.push(...checkObject(root, schema, value, at));
  if (schema.oneOf !== undefined) found.push(...checkOneOf(root, schema.oneOf, value, at));
  return found;
}

function definition(root: JsonSchema, ref: string): JsonSchema {
  const found = root.$defs?.[ref.replace('#/$defs/', '')];
  if (found === undefined) throw new Error(`the schema has no definition ${ref}`);
  return found;
}

function typeOf(value: unknown, expected: JsonSchema['type']): string {
  if (Array.isArray(value)) return 'array';
  if (value === null) return 'null';
  return expected === 'integer' && Number.isSafeInteger(value) ? 'integer' : typeof value;
}

const compiled = new Map<string, RegExp>();

/** Patterns come from the schema only, so the cache is as small as the schema. */
function matches(pattern: string, value: string): boolean {
  let expression = compiled.get(pattern);
  if (expression === undefined) compiled.set(pattern, (expression = new RegExp(pattern, 'u')));
  return expression.test(value);
}

function checkString(schema: JsonSchema, value: string, at: Place): readonly Found[] {
  if (schema.minLength !== undefined && [...value].length < schema.minLength)
    return [{ at, message: 'must not be empty' }];
  if (schema.pattern !== undefined && !matches(schema.pattern, value))
    return [
      {
        at,
        message: `must match ${schema.pattern}${schema.description === undefined ? '' : ` (${schema.description})`}`,
      },
    ];
  return [];
}

function checkNumber(schema: JsonSchema, value: number, at: Place): readonly Found[] {
  if (schema.minimum !== undefined && !(value >= schema.minimum))
    return [{ at, message: `must be at least ${schema.minimum}` }];
  if (schema.maximum !== undefined && !(value <= schema.maximum))
    return [{ at, message: `must be at most ${schema.maximum}` }];
  return [];
}

function checkArray(root: JsonSchema, schema: JsonSchema, value: readonly unknown[], at: Place): readonly Found[] {
  const { items, minItems } = schema;
  return [
    ...(minItems !== undefined && value.length < minItems
      ? [{ at, message: `must have at least ${minItems} item` }]
      : []),
    ...(items === undefined ? [] : value.flatMap((item, index) => check(root, items, item, [...at, index]))),
  ];
}

function checkObject(root: JsonSchema, schema: JsonSchema, value: object, at: Place): readonly Found[] {
  const found: Found[] = [];
  for (const name of schema.required ?? [])
    if (!Object.hasOwn(value, name)) found.push({ at, message: `'${name}' is missing` });
  for (const [name, inner] of Object.entries(value)) {
    const known =
      schema.properties !== undefined && Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
    if (known !== undefined) found.push(...check(root, known, inner, [...at, name]));
    else if (schema.additionalProperties === false) found.push({ at: [...at, name], message: 'unknown field' });
    else if (schema.additionalProperties !== undefined)
      found.push(...check(root, schema.additionalProperties, inner, [...at, name]));
  }
  return found;
}

function checkOneOf(root: JsonSchema, branches: readonly JsonSchema[], value: unknown, at: Place): readonly Found[] {
  const answers = branches.map((branch) => check(root, branch, value, at));
  const fitting = answers.filter((answer) => answer.length === 0).length;
  if (fitting === 1) return [];
  if (fitting > 1) return [{ at, message: 'must be exactly one of its forms' }];
  const kinds = branches.flatMap((branch) => branch.properties?.['kind']?.const ?? []);
  const kind = typeof value === 'object' && value !== null ? (value as { kind?: unknown }).kind : undefined;
  if (kinds.length === branches.length && !kinds.some((known) => known === kind))
    return kind === undefined
      ? [{ at, message: `'kind' is missing: one of ${kinds.join(', ')}` }]
      : [{ at: [...at, 'kind'], message: `must be one of ${kinds.join(', ')}` }];
  if (kinds.length === branches.length) return answers[kinds.findIndex((known) => known === kind)] ?? [];
  return answers.reduce((best, answer) => (answer.length < best.length ? answer : best));
}
