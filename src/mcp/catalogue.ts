import { newCorrelationId } from './correlation-id.js';
import type { OnApplicationBootstrap } from '@nestjs/common';
import type { DiscoverableDecorator, DiscoveryService, ExternalContextCreator } from '@nestjs/core';
import type { Bindings } from './bindings.js';
import type { Caller, CallKind, McpCall } from './call.js';
import { CatalogueError } from './catalogue-error.js';
import type { CompiledEntry } from './catalogue-entry.js';
import { CallPipeline } from './call-pipeline.js';
import { CatalogueViews, type ListKind } from './catalogue-views.js';
import { RequestState } from './asking/request-state.js';
import { compileFamily, compilePrompt, compileResource, compileTool, type Compilation } from './compile-entry.js';
import { McpPrompt, McpResource, McpResourceTemplate, McpTool } from './decorators.js';
import type { AskingPrompt, AskingTool, McpPromptOptions, McpToolOptions } from './decorators.js';
import type { McpResourceOptions, McpResourceTemplateOptions, Resource, ResourceFamily } from './decorators.js';
import type { ErrorFilter } from './error.filter.js';
import { CallError } from './errors.js';
import { CatalogueHost, UNKNOWN, unknownEntry } from './unknown-entry.js';

/**
 * Every tool, resource and prompt of this process, compiled once when the application is built. What the
 * classes give is fixed from then on; what the sources give changes only as a whole. What cannot be served is an error of the
 * start, all of it at once, and never of a call.
 */
export class Catalogue implements OnApplicationBootstrap {
  /** Of the classes: fixed. */
  #own: readonly CompiledEntry[] = [];
  #pipeline: CallPipeline;
  #unknown: Record<CallKind, CompiledEntry>;
  #state: State;

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly contexts: ExternalContextCreator,
    private readonly bindings: Bindings,
    private readonly filter: ErrorFilter,
    /** `HTTP__STATE_SECRET`. */
    private readonly stateSecret?: string,
  ) {}

  onApplicationBootstrap(): void {
    const pipeline = new CallPipeline(this.contexts, this.bindings.steps, this.filter);
    const states = this.stateSecret === undefined ? undefined : new RequestState(this.stateSecret);
    const problems: string[] = [];
    const own = [...this.classes({ pipeline, states })].flatMap((compile) => attempted(compile, problems));
    const sourced = this.bindings.sources.flatMap((source) => source.entries());
    this.#own = own;
    this.#pipeline = pipeline;
    this.#state = this.stateOf(sourced, problems);
    const unknown = (kind: CallKind) =>
      unknownEntry(
        kind,
        pipeline,
        this.entries(kind).find((entry) => entry.hasSubject),
      );
    this.#unknown = { tool: unknown('tool'), resource: unknown('resource'), prompt: unknown('prompt') };
  }

  /**
   * Other entries in the place of those that the sources gave. Everything that can fail fails here (CatalogueError); the
   * function that it gives puts all of it in place at once.
   */
  prepare(sourced: readonly CompiledEntry[]): () => void {
    const next = this.stateOf(sourced, []);
    return () => {
      this.#state = next;
    };
  }

  /** The entry with that name (for a resource: that URI), or the one that stands for everything unknown. */
  find(kind: CallKind, name: string): CompiledEntry {
    return this.#state.entries[kind].get(name) ?? this.family(kind, name) ?? this.#unknown[kind];
  }

  /**
   * What `completion/complete` may offer `caller` for an argument of the prompt or the resource template of that name;
   * undefined when the caller sees no such entry.
   */
  async suggestions(
    kind: 'prompt' | 'template',
    name: string,
    argument: string,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<readonly string[] | undefined> {
    // In one turn: both of the same state.
    const entry = this.#state.entries[kind].get(name);
    const seen = await this.definitions(kind, caller, signal);
    if (entry === undefined || !seen.includes(entry.definition)) return undefined;
    return entry.suggestions?.get(argument) ?? [];
  }

  /** Whether any argument of any entry has something to offer. */
  get suggests(): boolean {
    return [...this.entries('prompt'), ...this.entries('template')].some((entry) => entry.suggestions !== undefined);
  }

  /** In the order in which lists show them: by name, in code units, so that all replicas agree. */
  entries(kind: ListKind): readonly CompiledEntry[] {
    return sorted(this.#state.entries[kind]);
  }

  /**
   * Definitions of what `caller` sees. The same array for every caller with the same view. Rejects with the CallError of a
   * caller who may not list at all.
   */
  async definitions(kind: ListKind, caller: Caller, signal: AbortSignal): Promise<readonly unknown[]> {
    try {
      return await this.#state.views.definitions(kind, caller, signal);
    } catch (error) {
      if (error instanceof CallError) this.#refused(kind, caller, error);
      throw error;
    }
  }

  /** Whether `caller` sees the resource of that URI, or the family it belongs to. Rejects as `definitions` does. */
  async seesResource(uri: string, caller: Caller, signal: AbortSignal): Promise<boolean> {
    const { address, definition } = this.find('resource', uri);
    const seen = await this.definitions(address === undefined ? 'resource' : 'template', caller, signal);
    return seen.includes(definition);
  }

  /** The JSON text of an array that `definitions` gave; undefined for any other. */
  serialised(definitions: unknown): string | undefined {
    return this.#state.views.serialised(definitions);
  }

  #refused(kind: ListKind, caller: Caller, { code, data }: CallError): void {
    const told = data?.['request_id'];
    const correlationId = typeof told === 'string' ? told : newCorrelationId();
    this.bindings.lists?.refused({ kind, caller, code, correlationId });
  }

  private family(kind: CallKind, uri: string): CompiledEntry | undefined {
    if (kind !== 'resource') return undefined;
    for (const entry of this.#state.entries.template.values()) if (entry.address?.(uri) !== undefined) return entry;
    return undefined;
  }

  private *classes(compilation: Compilation): Generator<() => CompiledEntry> {
    for (const [options, tool] of this.decorated<McpToolOptions, AskingTool<unknown, unknown>>(McpTool)) {
      yield () => compileTool(options, tool, compilation);
    }
    for (const [options, resource] of this.decorated<McpResourceOptions, Resource>(McpResource)) {
      yield () => compileResource(options, resource, compilation);
    }
    const families = this.decorated<McpResourceTemplateOptions, ResourceFamily<unknown>>(McpResourceTemplate);
    for (const [options, family] of families) yield () => compileFamily(options, family, compilation);
    for (const [options, prompt] of this.decorated<McpPromptOptions, AskingPrompt<unknown>>(McpPrompt)) {
      yield () => compilePrompt(options, prompt, compilation);
    }
  }

  private *decorated<Options, Instance>(decorator: DiscoverableDecorator<Options>): Generator<[Options, Instance]> {
    for (const provider of this.discovery.getProviders({ metadataKey: decorator.KEY })) {
      const options = this.discovery.getMetadataByDecorator<DiscoverableDecorator<Options>>(decorator, provider);
      if (options !== undefined && !provider.isAlias) yield [options, provider.instance as Instance];
    }
  }

  /** Throws a CatalogueError with `problems` and whatever else is wrong. */
  private stateOf(sourced: readonly CompiledEntry[], problems: string[]): State {
    const pipeline = this.#pipeline;
    const entries: State['entries'] = { tool: new Map(), resource: new Map(), template: new Map(), prompt: new Map() };
    const admit = (entry: CompiledEntry): void => {
      const { kind, name } = entry;
      const known = entries[entry.address === undefined ? kind : 'template'];
      if (known.has(name)) problems.push(`${kind} '${name}': there are two of them`);
      else if (name === UNKNOWN) problems.push(`${kind} '${UNKNOWN}': the name stands for what is unknown`);
      else known.set(name, entry);
    };
    for (const entry of this.#own) admit(entry);
    for (const entry of sourced) attempted(() => wired(entry, pipeline), problems).forEach(admit);
    if (problems.length > 0) throw new CatalogueError(problems);
    const { tool, resource, template, prompt } = entries;
    const listed = {
      tool: sorted(tool),
      resource: sorted(resource),
      template: sorted(template),
      prompt: sorted(prompt),
    };
    return { entries, views: new CatalogueViews(listed, this.bindings.visibility) };
  }
}

/** What is served at one time, replaced as a whole. */
interface State {
  readonly entries: Readonly<Record<ListKind, Map<string, CompiledEntry>>>;
  readonly views: CatalogueViews;
}

const sorted = (entries: ReadonlyMap<string, CompiledEntry>): readonly CompiledEntry[] =>
  [...entries.values()].sort((a, b) => (a.name < b.name ? -1 : 1));

function attempted(compile: () => CompiledEntry, problems: string[]): readonly CompiledEntry[] {
  try {
    return [compile()];
  } catch (error) {
    if (!(error instanceof CatalogueError)) throw error;
    problems.push(...error.problems);
    return [];
  }
}

/**
 * An entry that is no class walks the same steps around its own `run`. Its schemas are somebody else's (an upstream
 * server's) and pass as they are, but for the header declarations that nobody here would check.
 */
function wired(entry: CompiledEntry, pipeline: CallPipeline): CompiledEntry {
  if (JSON.stringify(entry.definition).includes('"x-mcp-header"')) {
    throw new CatalogueError([`${entry.kind} '${entry.name}': uses x-mcp-header, which this server does not check`]);
  }
  const host = new CatalogueHost();
  return { ...entry, run: pipeline.around(host, entry.name, (call: McpCall) => entry.run(call)) };
}
