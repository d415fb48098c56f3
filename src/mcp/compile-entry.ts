import type { ZodType } from 'zod';
import { NOT_ASKING, asking, isQuestion, type Asking } from './asking/asking.js';
import type { RequestState } from './asking/request-state.js';
import { CatalogueError } from './catalogue-error.js';
import type { CompiledEntry } from './catalogue-entry.js';
import type { CallPipeline } from './call-pipeline.js';
import { CONTENT } from './content.js';
import type { AskingPrompt, AskingTool, Asks, McpPromptOptions, McpToolOptions } from './decorators.js';
import type {
  McpResourceOptions,
  McpResourceTemplateOptions,
  Rendered,
  Resource,
  ResourceFamily,
} from './decorators.js';
import { inputSchemaOf, isRecord, onlyChecks, outputSchemaOf, type JsonSchema } from './json-schema.js';
import { contentResult, promptResult, resourceResult, toolResult, type Result } from './results.js';
import { lintInput, lintName, lintOutput, lintPromptInput, lintVariables } from './schema-lint.js';
import { suggestionsOf } from './suggestions.js';
import { UriTemplate } from './uri-template.js';
import { invalidArguments } from './validate.interceptor.js';

/** What compiling needs beside the class. */
export interface Compilation {
  readonly pipeline: CallPipeline;
  /** Absent without `HTTP__STATE_SECRET`. */
  readonly states?: RequestState;
}

/**
 * Classes into entries, once, at start: schemas converted and linted, the method wired into the pipeline. All of them
 * throw a CatalogueError that names the entry and says everything that is wrong with it.
 */
export function compileTool(
  options: McpToolOptions,
  tool: AskingTool<unknown, unknown>,
  { pipeline, states }: Compilation,
): CompiledEntry {
  const { name, title, description, annotations, output } = options;
  const inputSchema = converted('tool', name, 'input', () => inputSchemaOf(options.input));
  const outputSchema = output === CONTENT ? undefined : converted('tool', name, 'output', () => outputSchemaOf(output));
  const lintedOutput = outputSchema === undefined ? [] : lintOutput(outputSchema);
  refuse('tool', name, [...lintName(name), ...lintInput(inputSchema), ...lintedOutput]);
  const result = output === CONTENT ? contentResult : checkedResult(output);
  const asks = askingOf('tool', name, options.asks, states);
  const outcome = options.outcome as ((payload: unknown) => 'success' | 'partial') | undefined;
  return {
    kind: 'tool',
    name,
    definition: { name, title, description, inputSchema, outputSchema, annotations: { title, ...annotations } },
    requires: options.requires,
    parts: options.parts ?? [],
    partData: options.partData,
    hasSubject: hasSubject(tool),
    // What walks through the steps is the protocol's result; what the author judges is the payload in it.
    outcome:
      outcome === undefined
        ? succeeded
        : (value) => (isQuestion(value) ? 'success' : outcome((value as Result)['structuredContent'])),
    subject: subjectOf(tool),
    validate: validation(options.input),
    run: pipeline.around(tool, 'call', (call) =>
      asks(call, (dialogue) => tool.call(call.input, call, dialogue), result),
    ),
  };
}

export function compileResource(
  options: McpResourceOptions,
  resource: Resource,
  { pipeline }: Compilation,
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

/** One read of a family: the URI that was asked for, and the variables in it. */
interface Address {
  readonly uri: string;
  readonly variables: unknown;
}

export function compileFamily(
  options: McpResourceTemplateOptions,
  family: ResourceFamily<unknown>,
  { pipeline }: Compilation,
): CompiledEntry {
  const { uriTemplate, name, title, description, mimeType } = options;
  const template = new UriTemplate(uriTemplate);
  const schema = converted('resource', uriTemplate, 'input', () => inputSchemaOf(options.input));
  refuse('resource', uriTemplate, [...template.problems(), ...lintVariables(schema, template.names)]);
  const [subject, validate] = [subjectOf(family), validation(options.input)];
  return {
    kind: 'resource',
    name: uriTemplate,
    definition: { uriTemplate, name, title, description, mimeType },
    requires: options.requires,
    parts: [],
    outcome: succeeded,
    subject: (input) => subject((input as Address).variables),
    validate: (input) => ({ uri: (input as Address).uri, variables: validate((input as Address).variables) }),
    run: pipeline.around(family, 'read', async (call) => {
      const { uri, variables } = call.input as Address;
      return resourceResult(uri, mimeType, await family.read(variables, call));
    }),
    address: (uri): Address | undefined => {
      const variables = template.match(uri);
      return variables && { uri, variables };
    },
    suggestions: suggestionsOf(schema),
  };
}

export function compilePrompt(
  options: McpPromptOptions,
  prompt: AskingPrompt<unknown>,
  { pipeline, states }: Compilation,
): CompiledEntry {
  const { name, title, description } = options;
  const inputSchema = converted('prompt', name, 'input', () => inputSchemaOf(options.input));
  refuse('prompt', name, [...lintName(name), ...lintPromptInput(inputSchema)]);
  const asks = askingOf('prompt', name, options.asks, states);
  const result = (rendered: unknown) => promptResult(description, rendered as Rendered);
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
    run: pipeline.around(prompt, 'render', (call) =>
      asks(call, (dialogue) => prompt.render(call.input, call, dialogue), result),
    ),
    suggestions: suggestionsOf(inputSchema),
  };
}

function askingOf(kind: string, name: string, asks: Asks | undefined, states: RequestState | undefined): Asking {
  if (asks === undefined) return NOT_ASKING;
  if (asks === 'unbound') return asking(undefined);
  if (states === undefined) refuse(kind, name, ["asks 'bound' questions, which needs HTTP__STATE_SECRET"]);
  return asking(states);
}

const succeeded = () => 'success' as const;

/** A result that does not match is a bug of the tool: thrown as such, with the places and never the values. */
function checkedResult(output: ZodType): (payload: unknown) => Result {
  const asBuilt = onlyChecks(output);
  return (payload) => {
    const checked = output.safeParse(payload);
    if (!checked.success) {
      const places = checked.error.issues.map(({ code, path }) => `${code} at ${path.join('.') || 'the top'}`);
      throw new Error(`the result does not match its output schema: ${places.join(', ')}`);
    }
    // The payload as the tool has built it, its order of keys included; a copy only where the schema drops fields.
    return toolResult(asBuilt ? payload : checked.data);
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
