import { isRecord, type JsonSchema } from '../mcp/json-schema.js';

/**
 * JSON Schemas of results, as `core/omit.ts` sees results: fields are dotted paths from the top, lists do not count. A field
 * that may be missing must not be `required`; one that always is missing must not be there at all. Else clients that check
 * results against the schema would throw away what a caller may have.
 */
export function outputFields(schema: JsonSchema): readonly string[] {
  const found: string[] = [];
  walk(schema, '', (path) => found.push(path));
  return found;
}

function walk(schema: unknown, prefix: string, field: (path: string) => void): void {
  if (!isRecord(schema)) return;
  for (const [name, inner] of Object.entries(recordOf(schema['properties']))) {
    field(prefix + name);
    walk(inner, `${prefix}${name}.`, field);
  }
  walk(schema['items'], prefix, field);
}

export interface LeftOut {
  /** Fields that are missing from every result, as grants name them. */
  readonly always: readonly string[];
  /** Fields that are missing from some. */
  readonly sometimes: readonly string[];
}

export const NOTHING_LEFT_OUT: LeftOut = { always: [], sometimes: [] };

/** The schema of results without those fields. `at`: dotted path of the object that the fields are counted from. */
export function schemaWithout(schema: JsonSchema, leftOut: LeftOut, at?: string): JsonSchema {
  const [first, ...rest] = at === undefined || at === '' ? [] : at.split('.');
  if (first === undefined) return without(schema, leftOut, '') as JsonSchema;
  const properties = recordOf(schema['properties']);
  const inner = properties[first];
  if (!isRecord(inner)) return schema;
  return { ...schema, properties: { ...properties, [first]: schemaWithout(inner, leftOut, rest.join('.')) } };
}

function without(node: unknown, leftOut: LeftOut, prefix: string): unknown {
  if (!isRecord(node)) return node;
  const named = (fields: readonly string[], name: string): boolean =>
    fields.includes(name) || fields.includes(prefix + name);
  const made: Record<string, unknown> = { ...node };
  if (isRecord(node['properties'])) {
    made['properties'] = Object.fromEntries(
      Object.entries(node['properties'])
        .filter(([name]) => !named(leftOut.always, name))
        .map(([name, inner]) => [name, without(inner, leftOut, `${prefix}${name}.`)]),
    );
  }
  if (Array.isArray(node['required'])) {
    made['required'] = (node['required'] as unknown[]).filter(
      (name) => typeof name !== 'string' || !(named(leftOut.always, name) || named(leftOut.sometimes, name)),
    );
  }
  if (node['items'] !== undefined) made['items'] = without(node['items'], leftOut, prefix);
  return made;
}

const recordOf = (value: unknown): Readonly<Record<string, unknown>> => (isRecord(value) ? value : {});
