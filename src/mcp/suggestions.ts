import { isRecord, type JsonSchema } from './json-schema.js';

/** Most values in one answer (MCP, completion). */
const MOST_VALUES = 100;

/** Values that a client may offer, by argument. */
export type Suggestions = ReadonlyMap<string, readonly string[]>;

export interface Completion {
  readonly values: readonly string[];
  readonly total: number;
  readonly hasMore: boolean;
}

/**
 * What `completion/complete` offers is what the schema of the argument names: its `enum`, else its `examples`
 * (`z.string().meta({ examples: [...] })`). Never more: whatever asks a source is a call, and calls are audited.
 * Undefined when no argument has any.
 */
export function suggestionsOf(schema: JsonSchema): Suggestions | undefined {
  const properties = isRecord(schema['properties']) ? Object.entries(schema['properties']) : [];
  const named = properties.map(([name, property]): [string, string[]] => [name, valuesOf(property)]);
  const some = named.filter(([, values]) => values.length > 0);
  return some.length === 0 ? undefined : new Map(some);
}

/** Those of `values` that begin with what was typed, whatever the case. */
export function complete(values: readonly string[], typed: string): Completion {
  const begun = typed.toLowerCase();
  const all = values.filter((value) => value.toLowerCase().startsWith(begun));
  return { values: all.slice(0, MOST_VALUES), total: all.length, hasMore: all.length > MOST_VALUES };
}

function valuesOf(property: unknown): string[] {
  if (!isRecord(property)) return [];
  const named = property['enum'] ?? property['examples'];
  return Array.isArray(named) ? named.filter((value): value is string => typeof value === 'string') : [];
}
