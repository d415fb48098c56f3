import type { ToolDefinition } from '../../connectors/mcp/tool-definition.js';
import { isRecord } from '../../mcp/json-schema.js';

/** Levels of the deepest, and UTF-16 units of the largest definition that is passed on. */
const DEEPEST = 32;
const LARGEST = 65_536;

/**
 * What a reader does not see and a model reads: controls, tags, overrides of the direction of writing, spaces without width.
 * Not the joiners, which emoji and several scripts need.
 */
const HIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e01ef}]/u;

/** Reasons why clients must not be given a definition as it is; English, and none of them quotes it. */
export function flawsOf(definition: ToolDefinition): readonly string[] {
  const { title, description, inputSchema, outputSchema, annotations } = definition;
  const found: string[] = [];
  if (title !== undefined && typeof title !== 'string') found.push('title is no text');
  if (description !== undefined && typeof description !== 'string') found.push('description is no text');
  if (annotations !== undefined && !isRecord(annotations)) found.push('annotations are no object');
  found.push(
    ...schemaFlaws('inputSchema', inputSchema ?? { type: 'object' }),
    ...schemaFlaws('outputSchema', outputSchema),
  );
  if (JSON.stringify(definition).length > LARGEST) found.push('it is too large');
  const texts = textsOf(definition, DEEPEST);
  if (texts === undefined) found.push('it is nested too deeply');
  else if (texts.some((text) => HIDDEN.test(text))) found.push('it holds characters that nobody sees');
  return found;
}

/** A text without what nobody sees. */
export const visibleText = (text: string): string => text.replaceAll(new RegExp(HIDDEN, 'gu'), '');

function schemaFlaws(field: string, schema: unknown): readonly string[] {
  if (schema === undefined) return [];
  if (!isRecord(schema)) return [`${field} is no object`];
  const found: string[] = [];
  if (schema['type'] !== 'object') found.push(`${field} is not of type object at the top`);
  if (schema['properties'] !== undefined && !isRecord(schema['properties']))
    found.push(`${field} has no proper properties`);
  // A promise that the caller's header says the same, which nobody here would check.
  if (JSON.stringify(schema).includes('"x-mcp-header"')) found.push(`${field} uses x-mcp-header`);
  return found;
}

/** Every text and every key; undefined when they are nested deeper than that. */
function textsOf(value: unknown, levels: number): string[] | undefined {
  const texts: string[] = [];
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > levels) return undefined;
    const next: unknown[] = [];
    for (const one of level) {
      if (typeof one === 'string') texts.push(one);
      else if (Array.isArray(one)) next.push(...(one as unknown[]));
      else if (isRecord(one)) {
        texts.push(...Object.keys(one));
        next.push(...Object.values(one));
      }
    }
    level = next;
  }
  return texts;
}
