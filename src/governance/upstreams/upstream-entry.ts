import type { UpstreamLease } from '../../connectors/mcp/tool-call.js';
import type { McpCall } from '../../mcp/call.js';
import type { CompiledEntry } from '../../mcp/catalogue-entry.js';
import { CallError } from '../../mcp/errors.js';
import { isRecord } from '../../mcp/json-schema.js';
import { ConnectorError } from '../../resilience/errors.js';
import type { ResilientExecutor } from '../../resilience/executor.js';
import { explanation, languageOf, type Language } from '../explanations.js';
import { checkedArguments } from './arguments.js';
import { visibleText } from './flaws.js';
import type { DefinitionProblem, UpstreamTool } from './upstream-tools.js';

export interface UpstreamEntryOptions {
  readonly upstream: string;
  readonly exposedName: string;
  readonly executor: Pick<ResilientExecutor<UpstreamLease>, 'run'>;
  readonly maxArgumentBytes: number;
  /** Told of every call whether the upstream's definition was still the pinned one. */
  readonly seen: (tool: string, asPinned: boolean) => void;
}

/** A tool of an upstream as an entry of the catalogue: it walks the same steps as our own, under `<upstream>__<tool>`. */
export function upstreamEntry(tool: UpstreamTool, options: UpstreamEntryOptions): CompiledEntry {
  const { upstream, exposedName, executor, maxArgumentBytes, seen } = options;
  const { definition, problem, pin } = tool;
  return {
    kind: 'tool',
    name: exposedName,
    definition: shown(tool, exposedName),
    requires: [upstream],
    parts: [],
    hasSubject: false,
    outcome: () => 'success',
    subject: () => null,
    validate: (input) => {
      // Before anything is consumed: it is the definition that is refused, and not the call.
      if (problem !== undefined) throw refusedDefinition(problem, 'es');
      return checkedArguments(definition.inputSchema, input, maxArgumentBytes);
    },
    run: async (call) => {
      const sent = { name: definition.name, arguments: call.input as Readonly<Record<string, unknown>> };
      const asked = pin === undefined ? sent : { ...sent, pin };
      const outcome = await answerOf(
        executor.run((lease, signal) => lease.call(asked, signal), call.options(upstream)),
      );
      if (pin !== undefined) seen(definition.name, outcome.kind === 'result');
      if (outcome.kind === 'changed')
        throw refusedDefinition('definition_changed', languageOf(call.caller.language), call);
      // The upstream's own word about its own work; the call itself was served.
      if (outcome.result.isError === true) call.journal.note('tool_error', true);
      return { ...outcome.result };
    },
  };
}

/** What lists show. A definition that clients must not be given as it is, is shown without what is wrong with it. */
function shown({ definition, problem }: UpstreamTool, name: string): CompiledEntry['definition'] {
  const { title, description, inputSchema, outputSchema, annotations } = definition;
  if (problem === 'definition_unusable') {
    const plain = typeof description === 'string' ? visibleText(description) : undefined;
    return { name, description: plain, inputSchema: { type: 'object' } };
  }
  return {
    name,
    title,
    description,
    inputSchema: isRecord(inputSchema) ? inputSchema : { type: 'object' },
    outputSchema,
    annotations,
  };
}

function refusedDefinition(code: DefinitionProblem, language: Language, call?: McpCall): CallError {
  const data = call === undefined ? {} : { data: { request_id: call.correlationId } };
  return new CallError(code, explanation(code, language), { result: 'denied', ...data });
}

async function answerOf<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof ConnectorError)) throw error;
    const { code, message, retryAfterSeconds } = error;
    const data = retryAfterSeconds === undefined ? {} : { data: { retry_after_seconds: retryAfterSeconds } };
    throw new CallError(code, message, data);
  }
}
