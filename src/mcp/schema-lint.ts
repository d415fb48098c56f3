import { isRecord, type JsonSchema } from './json-schema.js';

/**
 * The subset of JSON Schema that all big clients accept (architecture §6): an object at the top, every object closed,
 * no unions in inputs, null as the only union in outputs and written `type: [X, 'null']`, no boolean schemas, no `$ref`.
 * Each function returns what is wrong, in English sentences that begin with the place; empty when nothing is.
 */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

const COMBINATORS = ['anyOf', 'oneOf', 'allOf', 'not', 'if', '$ref', '$dynamicRef', 'patternProperties'] as const;

export function lintName(name: string): string[] {
  return NAME.test(name) ? [] : ['name must have 1 to 64 characters of A-Z a-z 0-9 _ -'];
}

export function lintInput(schema: JsonSchema): string[] {
  return [...lintTop(schema, 'input'), ...lintNode(schema, 'input', false)];
}

export function lintOutput(schema: JsonSchema): string[] {
  return [...lintTop(schema, 'output'), ...lintNode(schema, 'output', true)];
}

/** Arguments of a prompt are texts: the protocol knows no others. */
export function lintPromptInput(schema: JsonSchema): string[] {
  const properties = isRecord(schema['properties']) ? Object.entries(schema['properties']) : [];
  return [
    ...lintTop(schema, 'input'),
    ...lintNode(schema, 'input', false),
    ...properties
      .filter(([, property]) => !isRecord(property) || property['type'] !== 'string')
      .map(([name]) => `input.${name} must be a string: prompts take no other arguments`),
  ];
}

/** The schema of a template says of each variable what it may be, and of nothing else. */
export function lintVariables(schema: JsonSchema, names: readonly string[]): string[] {
  const properties = isRecord(schema['properties']) ? schema['properties'] : {};
  const required = new Set(Array.isArray(schema['required']) ? (schema['required'] as unknown[]) : []);
  const isText = (name: string) => isRecord(properties[name]) && properties[name]['type'] === 'string';
  return [
    ...lintTop(schema, 'input'),
    ...lintNode(schema, 'input', false),
    ...names
      .filter((name) => !isText(name) || !required.has(name))
      .map((name) => `input.${name} must be a required string`),
    ...Object.keys(properties)
      .filter((name) => !names.includes(name))
      .map((name) => `input.${name} is not in uriTemplate`),
  ];
}

function lintTop(schema: JsonSchema, at: string): string[] {
  return schema['type'] === 'object' ? [] : [`${at} must be an object at the top`];
}

function lintNode(node: unknown, at: string, nullable: boolean): string[] {
  if (!isRecord(node)) return [`${at} is a boolean schema: say what it is`];
  const problems = [...lintKeywords(node, at), ...lintType(node, at, nullable)];
  if (isObjectSchema(node) && node['additionalProperties'] !== false) {
    problems.push(`${at} must refuse unknown properties (additionalProperties: false; in zod, strictObject)`);
  }
  if (isRecord(node['properties'])) {
    for (const [name, child] of Object.entries(node['properties'])) {
      problems.push(...lintNode(child, `${at}.${name}`, nullable));
    }
  }
  if ('items' in node) problems.push(...lintNode(node['items'], `${at}[]`, nullable));
  if (Array.isArray(node['prefixItems'])) problems.push(`${at} is a tuple: make it an object`);
  return problems;
}

function lintKeywords(node: JsonSchema, at: string): string[] {
  const found = COMBINATORS.filter((keyword) => keyword in node).map((keyword) => `${at} uses ${keyword}`);
  if ('$schema' in node) found.push(`${at} names a dialect ($schema)`);
  // The check of its header is not written: a declaration that nobody enforces would be a promise not kept.
  if ('x-mcp-header' in node) found.push(`${at} uses x-mcp-header, which this server does not check`);
  return found;
}

function lintType(node: JsonSchema, at: string, nullable: boolean): string[] {
  const { type } = node;
  if (typeof type === 'string') return type === 'null' ? [`${at} is always null`] : [];
  if (type === undefined) return 'enum' in node || 'const' in node ? [] : [`${at} has no type`];
  if (!Array.isArray(type)) return [`${at} has a type that is no text`];
  if (!nullable) return [`${at} is a union of types`];
  return type.length === 2 && type[1] === 'null' ? [] : [`${at} may be united with null only`];
}

function isObjectSchema({ type }: JsonSchema): boolean {
  return type === 'object' || (Array.isArray(type) && type[0] === 'object');
}
