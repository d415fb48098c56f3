import type { ZodType } from 'zod';
import { CatalogueError } from './catalogue-error.js';
import type { CompiledEntry } from './catalogue-entry.js';
import type { CallPipeline } from './call-pipeline.js';
import type { McpPromptOptions, McpResourceOptions, McpToolOptions, Prompt, Resource, Tool } from './decorators.js';
import { inputSchemaOf, isRecord, onlyChecks, outputSchemaOf, type JsonSchema } from './json-schema.js';
import { promptResult, resourceResult, toolResult, type Result } from './results.js';
import { lintInput, lintName, lintOutput, lintPromptInput } from './schema-lint.js';
import { invalidArguments } from './validate.interceptor.js';

/**
 * Classes into entries, once, at start: schemas converted and linted, the method wired into the pipeline. All of them
 * throw a CatalogueError that names the entry and says everything that is wrong with it.
 */
export function compileTool(
  options: McpToolOptions,
  tool: Tool<unknown, unknown>,
  pipeline: CallPipeline,
): CompiledEntry {
  const inputSchema = converted('tool', options.name, 'input', () => inputSchemaOf(options.input));
  const outputSchema = converted('tool', options.name, 'output', () => outputSchemaOf(options.output));
  refuse('tool', options.name, [...lintName(options.name), ...lintInput(inputSchema), ...lintOutput(outputSchema)]);
  const check = outputCheck(options.output);
  const outcome = options.outcome as ((payload: unknown) => 'success' | 'partial') | undefined;
  const { name, title, description, annotations } = options;
  return {
    kind: 'tool',
    name,
    definition: { name, title, description, inputSchema, outputSchema, annotations: { title, ...annotations } },
    requires: options.requires,
    parts: options.parts ?? [],
    partData: options.partData,
    hasSubject: hasSubject(tool),
    // What walks through the steps is the protocol's result; what the author judges is the payload in it.
    outcome: outcome === undefined ? succeeded : (result) => outcome((result as Result)['structuredContent']),
    subject: subjectOf(tool),
    validate: validation(options.input),
    run: pipeline.around(tool, 'call', async (call) => toolResult(check(await tool.call(call.input, call)))),
  };
}

export function compileResource(
  options: McpResourceOptions,
  resource: Resource,
  pipeline: CallPipeline,
): CompiledEntry {
  const { uri, name, title, description, mimeType } = options;
  refuse('resource', uri, URL.canParse(uri) ? [] : ['uri must be an absolute URI']);
  return {
    kind: 'resource',
    name: uri,
    definition: { uri, name, title, description, mimeType },
    requires: options.requires,
    parts: [],
    hasSubject: false,
    outcome: succeeded,
    subject: () => null,
    validate: (input) => input,
    run: pipeline.around(resource, 'read', async (call) => resourceResult(uri, mimeType, await resource.read(call))),
  };
}

export function compilePrompt(
  options: McpPromptOptions,
  prompt: Prompt<unknown>,
  pipeline: CallPipeline,
): CompiledEntry {
  const { name, title, description } = options;
  const inputSchema = converted('prompt', name, 'input', () => inputSchemaOf(options.input));
  refuse('prompt', name, [...lintName(name), ...lintPromptInput(inputSchema)]);
  return {
    kind: 'prompt',
    name,
    definition: { name, title, description, arguments: promptArguments(inputSchema) },
    requires: options.requires,
    parts: [],
    hasSubject: hasSubject(prompt),
    outcome: succeeded,
    subject: subjectOf(prompt),
    validate: validation(options.input),
    run: pipeline.around(prompt, 'render', async (call) =>
      promptResult(description, await prompt.render(call.input, call)),
    ),
  };
}

const succeeded = () => 'success' as const;

/** A result that does not match is a bug of the tool: thrown as such, with the places and never the values. */
function outputCheck(output: ZodType): (payload: unknown) => unknown {
  const asBuilt = onlyChecks(output);
  return (payload) => {
    const checked = output.safeParse(payload);
    if (!checked.success) {
      const places = checked.error.issues.map(({ code, path }) => `${code} at ${path.join('.') || 'the top'}`);
      throw new Error(`the result does not match its output schema: ${places.join(', ')}`);
    }
    // The payload as the tool has built it, its order of keys included; a copy only where the schema drops fields.
    return asBuilt ? payload : checked.data;
  };
}

function validation(input: ZodType): CompiledEntry['validate'] {
  return (raw) => {
    const checked = input.safeParse(raw ?? {});
    if (!checked.success) throw invalidArguments();
    return checked.data;
  };
}

function subjectOf(host: { subject?(input: unknown): string | null }): CompiledEntry['subject'] {
  return (input) => host.subject?.(input) ?? null;
}

/** Of a class (its prototype) or of an instance. */
export const hasSubject = (host: { subject?(input: unknown): string | null }): boolean => host.subject !== undefined;

function promptArguments(schema: JsonSchema): readonly Record<string, unknown>[] {
  const required = new Set(Array.isArray(schema['required']) ? (schema['required'] as unknown[]) : []);
  return Object.entries(isRecord(schema['properties']) ? schema['properties'] : {}).map(([name, property]) => ({
    name,
    ...(isRecord(property) && { title: property['title'], description: property['description'] }),
    required: required.has(name),
  }));
}

function converted(kind: string, name: string, side: string, convert: () => JsonSchema): JsonSchema {
  try {
    return convert();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CatalogueError([`${kind} '${name}': ${side} cannot be written as JSON Schema: ${why}`]);
  }
}

function refuse(kind: string, name: string, problems: readonly string[]): void {
  if (problems.length > 0) throw new CatalogueError(problems.map((problem) => `${kind} '${name}': ${problem}`));
}
