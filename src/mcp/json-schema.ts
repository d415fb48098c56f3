import { isDeepStrictEqual } from 'node:util';
import { z, type ZodType } from 'zod';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** What goes in: the form a caller has to fill. Throws when zod cannot say it in JSON Schema (transforms, dates). */
export function inputSchemaOf(schema: ZodType): JsonSchema {
  return plain(z.toJSONSchema(schema, { io: 'input' }));
}

/** What comes out of `schema`: without the fields that it drops, with the defaults that it fills in. */
export function outputSchemaOf(schema: ZodType): JsonSchema {
  return plain(z.toJSONSchema(schema, { io: 'output' }));
}

/** The schema only checks: what it accepts is already what it gives back (nothing dropped, nothing filled in). */
export function onlyChecks(schema: ZodType): boolean {
  return isDeepStrictEqual(z.toJSONSchema(schema, { io: 'input' }), z.toJSONSchema(schema, { io: 'output' }));
}

/** Without `$schema` (2020-12 is the protocol's default, and older clients fail on a dialect they have not loaded). */
function plain({ $schema: _, ...schema }: Record<string, unknown>): JsonSchema {
  return nullAsType(schema) as JsonSchema;
}

/**
 * `anyOf: [X, { type: 'null' }]`, which is how zod writes `.nullable()` of most schemas, as `type: [X's type, 'null']`:
 * the one spelling of null that all big clients accept.
 */
function nullAsType(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(nullAsType);
  if (!isRecord(node)) return node;
  const schema = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, nullAsType(value)]));
  const { anyOf, type, ...around } = schema;
  if (Array.isArray(type) && type.length === 2 && type[0] === 'null') return { type: [type[1], 'null'], ...around };
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return schema;
  const [other, nothing] = (isNull(anyOf[0]) ? [anyOf[1], anyOf[0]] : anyOf) as unknown[];
  if (!isNull(nothing) || !isRecord(other) || typeof other['type'] !== 'string') return schema;
  const { type: its, const: only, enum: values, ...rest } = other;
  const all = Array.isArray(values) ? (values as unknown[]) : only === undefined ? undefined : [only];
  // A value must satisfy `enum` as well as `type`: null has to be in both.
  return { type: [its, 'null'], ...(all !== undefined && { enum: [...all, null] }), ...rest, ...around };
}

function isNull(node: unknown): boolean {
  return isRecord(node) && node['type'] === 'null' && Object.keys(node).length === 1;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
