import 'reflect-metadata';
import type { Type } from '@nestjs/common';
import type { DiscoverableDecorator } from '@nestjs/core';
import type { ConfigProblem } from '../config/problem.js';
import { variableOf } from '../config/setting.js';
import type { EventLog } from '../logging/event-log.js';
import type { CallKind } from './call.js';
import { McpPrompt, McpResource, McpResourceTemplate, McpTool, type Asks } from './decorators.js';
import { HttpSettings } from './http.settings.js';

/** One class that the catalogue could hold. */
export interface Candidate {
  readonly type: Type;
  readonly kind: CallKind;
  /** Tool or prompt name, or the resource's URI or URI template. */
  readonly name: string;
  readonly requires: readonly string[];
  /** It asks its callers, and answers count only with a state that this server has signed. */
  readonly asksBound: boolean;
  /** Those of `requires` that are not enabled; empty = the class is constructed. */
  readonly missing: readonly string[];
}

export interface Composition {
  /** To be provided, in the order in which they came. */
  readonly constructed: readonly Type[];
  readonly candidates: readonly Candidate[];
}

/** Which classes can be served with the sources that are enabled. Reads decorators only: nothing is constructed. */
export function compose(classes: readonly Type[], enabled: ReadonlySet<string>): Composition {
  const candidates = classes.map((type) => {
    const { kind, name, requires, asks } = declared(type);
    return {
      type,
      kind,
      name,
      requires,
      asksBound: asks === 'bound',
      missing: requires.filter((source) => !enabled.has(source)),
    };
  });
  return { candidates, constructed: candidates.filter(({ missing }) => missing.length === 0).map(({ type }) => type) };
}

/** What the settings lack for what is to be served; the process must not start (exit code 2). */
export function missingSettings({ candidates }: Composition, { stateSecret }: HttpSettings): ConfigProblem[] {
  const asking = candidates.filter(({ asksBound, missing }) => asksBound && missing.length === 0);
  if (stateSecret !== undefined || asking.length === 0) return [];
  const names = asking.map(({ name }) => name).join(', ');
  const problem = `must be set, the same on all replicas: it signs what ${names} asks of the caller`;
  return [{ variable: variableOf(HttpSettings, 'stateSecret'), problem }];
}

/** The reference's events (spec §5.1), logger `mcp_corp.tools`. */
export function logRegistration(log: EventLog, { candidates }: Composition): void {
  const tools = candidates.filter(({ kind }) => kind === 'tool');
  log.info('tools_registration_summary', {
    registradas: tools.filter(({ missing }) => missing.length === 0).map(({ name }) => name),
    omitidas: Object.fromEntries(
      tools.filter(({ missing }) => missing.length > 0).map((tool) => [tool.name, whyOmitted(tool)]),
    ),
  });
  for (const candidate of candidates) {
    if (candidate.missing.length === 0 || candidate.kind === 'tool') continue;
    log.info(`${candidate.kind}_not_registered`, { [candidate.kind]: candidate.name, motivo: needs(candidate) });
  }
}

function whyOmitted(tool: Candidate): string {
  return tool.requires.length === 1
    ? `${needs(tool)}, que no está disponible`
    : `${needsAll(tool)}; falta(n): ${tool.missing.join(', ')}`;
}

function needs(candidate: Candidate): string {
  const { requires } = candidate;
  return requires.length === 1
    ? `requiere el conector '${requires[0]}'`
    : `${needsAll(candidate)} (${requires.slice(0, -1).join(', ')} y ${requires.at(-1)})`;
}

function needsAll({ requires }: Candidate): string {
  return requires.length === 2 ? 'requiere ambos conectores' : `requiere ${requires.length} conectores`;
}

interface Declared extends Pick<Candidate, 'kind' | 'name' | 'requires'> {
  readonly asks?: Asks;
}

function declared(type: Type): Declared {
  const tool = optionsOf(McpTool, type);
  if (tool !== undefined) return { kind: 'tool', name: tool.name, requires: tool.requires, asks: tool.asks };
  const resource = optionsOf(McpResource, type);
  if (resource !== undefined) return { kind: 'resource', name: resource.uri, requires: resource.requires };
  const family = optionsOf(McpResourceTemplate, type);
  if (family !== undefined) return { kind: 'resource', name: family.uriTemplate, requires: family.requires };
  const prompt = optionsOf(McpPrompt, type);
  if (prompt !== undefined) return { kind: 'prompt', name: prompt.name, requires: prompt.requires, asks: prompt.asks };
  throw new TypeError(`${type.name} is neither a tool nor a resource nor a prompt`);
}

function optionsOf<Options>(decorator: DiscoverableDecorator<Options>, type: Type): Options | undefined {
  return Reflect.getMetadata(decorator.KEY, type) as Options | undefined;
}
