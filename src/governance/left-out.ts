import type { CompiledEntry } from '../mcp/catalogue-entry.js';
import { isRecord } from '../mcp/json-schema.js';
import { omitFields, type Allow, type Policy } from './core/index.js';
import { schemaWithout, type LeftOut } from './output-fields.js';

type Result = Readonly<Record<string, unknown>>;

/** What is left out of one result: of all of it, and of the data of each part, by the part's name. */
export interface Omissions {
  readonly own: readonly string[];
  readonly parts: ReadonlyMap<string, readonly string[]>;
}

/**
 * The result of a tool without the fields that its caller may not have, as data and as text. A part's omissions are applied
 * where its data stand; where that is not known, in the whole result. A result that holds no data cannot be cut, and is not
 * given away. Resources and prompts have no fields (the compiler says so of a grant that would omit some).
 */
export function leaveOut(entry: CompiledEntry, result: Result, { own, parts }: Omissions): Result {
  const cutting = [...parts].filter(([, fields]) => fields.length > 0);
  if (entry.kind !== 'tool' || result['isError'] === true || (own.length === 0 && cutting.length === 0)) return result;
  if (!isRecord(result['structuredContent'])) throw new Error('a result without data: nothing can be left out of it');
  let payload: unknown = result['structuredContent'];
  for (const [part, fields] of cutting) payload = cutAt(payload, placeOf(entry, part), fields);
  payload = omitFields(payload, own);
  return { ...result, content: [{ type: 'text', text: JSON.stringify(payload) }], structuredContent: payload };
}

/** The definition of a tool as it is shown to callers from whose results these fields are missing. */
export function definitionWithout(
  entry: CompiledEntry,
  own: LeftOut,
  parts: ReadonlyMap<string, LeftOut>,
): CompiledEntry['definition'] {
  const { outputSchema } = entry.definition;
  if (entry.kind !== 'tool' || !isRecord(outputSchema)) return entry.definition;
  let schema = outputSchema;
  for (const [part, fields] of parts) schema = schemaWithout(schema, fields, placeOf(entry, part));
  schema = schemaWithout(schema, own);
  return { ...entry.definition, outputSchema: schema };
}

const placeOf = (entry: CompiledEntry, part: string): string => entry.partData?.[part] ?? '';

function cutAt(value: unknown, place: string, fields: readonly string[]): unknown {
  if (place === '') return omitFields(value, fields);
  if (!isRecord(value)) return value;
  const [first = '', ...rest] = place.split('.');
  return first in value ? { ...value, [first]: cutAt(value[first], rest.join('.'), fields) } : value;
}

/**
 * Which fields every result of an allowed call lacks, and which only some: grants that are bound to a subject bring their
 * omissions only to calls about that subject.
 */
export function leftOutBy(policy: Policy, allow: Allow): LeftOut {
  if (allow.omit.length === 0) return { always: [], sometimes: [] };
  const matching = policy.grants.filter(({ path }) => allow.grants.includes(path));
  const unbound = matching.filter(({ subjectEquals }) => subjectEquals === undefined);
  const always =
    unbound.length > 0
      ? new Set(unbound.flatMap(({ omit }) => omit))
      : new Set(allow.omit.filter((field) => matching.every(({ omit }) => omit.includes(field))));
  return { always: [...always].sort(), sometimes: allow.omit.filter((field) => !always.has(field)) };
}
