import { digestOf, type ToolDefinition } from '../../connectors/mcp/tool-definition.js';
import { isRecord } from '../../mcp/json-schema.js';
import type { CatalogueItem, Policy, TransportDocument } from '../core/index.js';
import { outputFields } from '../output-fields.js';
import { flawsOf } from './flaws.js';

/** Why calls of a tool that is listed are refused. */
export type DefinitionProblem = 'definition_changed' | 'definition_unusable';

/** One tool of an upstream, as it was discovered or declared. */
export interface UpstreamTool {
  readonly definition: ToolDefinition;
  /** What the upstream must still say of it when it is called; absent = it was declared without a pin. */
  readonly pin?: string;
  readonly problem?: DefinitionProblem;
  /** What is wrong with it, for people. */
  readonly flaws: readonly string[];
}

/** By upstream. Complete: an upstream that is here has these tools and no others. */
export type UpstreamTools = ReadonlyMap<string, readonly UpstreamTool[]>;

export type RemoteTransport = Exclude<TransportDocument, { readonly kind: 'local' }>;

/** `declaredDigest`: the pin that stands beside the definition in a file; absent where it was discovered. */
export function upstreamTool(definition: ToolDefinition, declaredDigest?: string): UpstreamTool {
  const flaws = flawsOf(definition);
  const drifted = declaredDigest !== undefined && declaredDigest !== digestOf(definition);
  const problem = flaws.length > 0 ? 'definition_unusable' : drifted ? 'definition_changed' : undefined;
  return {
    definition,
    ...(declaredDigest !== undefined && { pin: declaredDigest }),
    ...(problem && { problem }),
    flaws: drifted ? [...flaws, 'its digest is not that of its definition'] : flaws,
  };
}

/** As the compiler sees them. */
export const catalogueItems = (tools: UpstreamTools): ReadonlyMap<string, readonly CatalogueItem[]> =>
  new Map([...tools].map(([upstream, all]) => [upstream, all.map(itemOf)]));

function itemOf({ definition: { name, description, outputSchema } }: UpstreamTool): CatalogueItem {
  return {
    ...{ kind: 'tool', name, hasSubject: false },
    ...(typeof description === 'string' && { description }),
    ...(isRecord(outputSchema) && { outputFields: outputFields(outputSchema) }),
  };
}

/** The upstreams of a policy that are somewhere else, in its order. */
export function remoteUpstreams({ upstreams }: Policy): ReadonlyMap<string, RemoteTransport> {
  const found = new Map<string, RemoteTransport>();
  for (const [id, { transport }] of upstreams) if (transport.kind !== 'local') found.set(id, transport);
  return found;
}
