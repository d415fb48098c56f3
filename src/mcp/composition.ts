import 'reflect-metadata';
import type { Type } from '@nestjs/common';
import type { DiscoverableDecorator } from '@nestjs/core';
import type { EventLog } from '../logging/event-log.js';
import type { CallKind } from './call.js';
import { McpPrompt, McpResource, McpTool } from './decorators.js';

/** One class that the catalogue could hold. */
export interface Candidate {
  readonly type: Type;
  readonly kind: CallKind;
  /** Tool or prompt name, or the resource's URI. */
  readonly name: string;
  readonly requires: readonly string[];
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
    const { kind, name, requires } = declared(type);
    return { type, kind, name, requires, missing: requires.filter((source) => !enabled.has(source)) };
  });
  return { candidates, constructed: candidates.filter(({ missing }) => missing.length === 0).map(({ type }) => type) };
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

function declared(type: Type): Pick<Candidate, 'kind' | 'name' | 'requires'> {
  const tool = optionsOf(McpTool, type);
  if (tool !== undefined) return { kind: 'tool', name: tool.name, requires: tool.requires };
  const resource = optionsOf(McpResource, type);
  if (resource !== undefined) return { kind: 'resource', name: resource.uri, requires: resource.requires };
  const prompt = optionsOf(McpPrompt, type);
  if (prompt !== undefined) return { kind: 'prompt', name: prompt.name, requires: prompt.requires };
  throw new TypeError(`${type.name} is neither a tool nor a resource nor a prompt`);
}

function optionsOf<Options>(decorator: DiscoverableDecorator<Options>, type: Type): Options | undefined {
  return Reflect.getMetadata(decorator.KEY, type) as Options | undefined;
}
