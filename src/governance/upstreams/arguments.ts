import { isRecord } from '../../mcp/json-schema.js';
import { invalidArguments } from '../../mcp/validate.interceptor.js';

/** Levels of the deepest arguments. */
const DEEPEST = 32;

type Arguments = Readonly<Record<string, unknown>>;

/**
 * Arguments for somebody else's tool: an object, not too large, not too deep, with the required members and of the types that
 * its schema names. Its `pattern`s are not run: a foreign regular expression can take for ever. Whatever else the schema says
 * the upstream checks itself. Throws the CallError `invalid_arguments`.
 */
export function checkedArguments(schema: unknown, input: unknown, maxBytes: number): Arguments {
  const given = input ?? {};
  if (!isRecord(given) || !fits(schema, given, 0)) throw invalidArguments();
  if (Buffer.byteLength(JSON.stringify(given)) > maxBytes) throw invalidArguments();
  return given;
}

function fits(schema: unknown, value: unknown, depth: number): boolean {
  if (depth > DEEPEST) return false;
  const rules = isRecord(schema) ? schema : {};
  if (!isOfType(rules['type'], value)) return false;
  if (Array.isArray(value)) return value.every((item) => fits(rules['items'], item, depth + 1));
  if (!isRecord(value)) return true;
  const properties = isRecord(rules['properties']) ? rules['properties'] : {};
  const required = Array.isArray(rules['required']) ? (rules['required'] as unknown[]) : [];
  if (required.some((name) => typeof name === 'string' && !Object.hasOwn(value, name))) return false;
  const closed = rules['additionalProperties'] === false && rules['patternProperties'] === undefined;
  return Object.entries(value).every(([name, inner]) =>
    Object.hasOwn(properties, name) ? fits(properties[name], inner, depth + 1) : !closed && fits({}, inner, depth + 1),
  );
}

function isOfType(type: unknown, value: unknown): boolean {
  if (Array.isArray(type)) return type.some((one) => isOfType(one, value));
  switch (type) {
    case 'object':
      return isRecord(value);
    case 'array':
      return Array.isArray(value);
    case 'string':
    case 'boolean':
    case 'number':
      return typeof value === type;
    case 'integer':
      return Number.isInteger(value);
    case 'null':
      return value === null;
    default:
      return true;
  }
}
