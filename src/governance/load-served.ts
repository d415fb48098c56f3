import type { CatalogueItem, Policy } from './core/index.js';
import type { LoadedPolicy } from './policy-file/load-policy.js';
import { loadPolicyFile } from './served-policy.js';
import { loadDeclaredCatalogue } from './upstreams/declared-catalogue.js';
import { DiscoveryError } from './upstreams/discovery.js';
import {
  catalogueItems,
  remoteUpstreams,
  type RemoteTransport,
  type UpstreamTools,
} from './upstreams/upstream-tools.js';

/** The policy has remote upstreams, and nobody said where to learn what they have. */
export class CatalogueMissingError extends Error {
  override readonly name = 'CatalogueMissingError';
}

/** What asks the upstreams themselves; see `discover`. */
export type Discover = (upstreams: ReadonlyMap<string, RemoteTransport>) => Promise<UpstreamTools>;

export interface ServedPolicyFile {
  /** The policy file. */
  readonly path: string;
  readonly local: readonly CatalogueItem[];
  /** `MCP_CORP_GOVERNANCE__CATALOG`: a file, `discover`, or nothing. */
  readonly catalog: string | undefined;
  readonly discover: Discover;
  /** Looks at a policy that is otherwise in order before its upstreams matter; what it throws ends the loading. */
  readonly check?: (policy: Policy) => void;
}

export interface LoadedForService extends LoadedPolicy {
  readonly tools: UpstreamTools;
}

const DISCOVER = 'discover';

/**
 * The artefact and the catalogue of its upstreams, for a server. Rejects with a PolicyUnreachableError, a
 * CatalogueMissingError, a DeclaredCatalogueError or a DiscoveryError; errors of the artefact are in the result.
 */
export async function loadServed({
  path,
  local,
  catalog,
  discover,
  check,
}: ServedPolicyFile): Promise<LoadedForService> {
  let tools: UpstreamTools = new Map();
  const upstreams = async (policy: Policy): Promise<ReadonlyMap<string, readonly CatalogueItem[]>> => {
    check?.(policy);
    const remote = remoteUpstreams(policy);
    if (catalog === DISCOVER) {
      tools = await discover(remote);
      refuseUnusable(policy, tools);
    } else if (catalog !== undefined) tools = complete(await loadDeclaredCatalogue(catalog), policy);
    else if (remote.size > 0)
      throw new CatalogueMissingError('the policy has remote upstreams and there is no catalogue');
    return catalogueItems(tools);
  };
  const loaded = await loadPolicyFile(path, { local, purpose: 'serve', upstreams });
  return { ...loaded, tools };
}

/** An upstream of which a catalogue says nothing has nothing: it is never taken at its word (spec §3.2). */
export const complete = (declared: UpstreamTools, policy: Policy): UpstreamTools =>
  new Map([...[...remoteUpstreams(policy).keys()].map((id) => [id, []] as const), ...declared]);

/** With discovery nobody has looked at the definitions before: one that is mapped and cannot be served is no answer. */
function refuseUnusable({ entries }: Policy, tools: UpstreamTools): void {
  for (const { upstream, name } of entries) {
    const found = tools.get(upstream)?.find(({ definition }) => definition.name === name);
    if (found?.problem !== undefined) throw new DiscoveryError(upstream, 'unintelligible', 'UNUSABLE_DEFINITION');
  }
}
