import type { CatalogueItem, Policy } from './core/index.js';
import { loadPolicy, type LoadedPolicy } from './policy-file/load-policy.js';
import type { Locate } from './policy-file/positions.js';
import { policyText } from './policy-source/policy-text.js';
import type { PrincipalResolver } from './ports.js';
import type { UpstreamTools } from './upstreams/upstream-tools.js';

export { loadText } from './policy-source/file-text.js';
export { PolicyFormError } from './policy-source/specifier.js';
export { PolicyUnreachableError } from './policy-source/unreachable.js';

/** What a server obeys: one snapshot, compiled whole and never changed. A reload puts another one in its place. */
export interface ServedPolicy {
  readonly policy: Policy;
  readonly version: string;
  readonly locate: Locate;
  /** What the remote upstreams have. */
  readonly tools?: UpstreamTools;
  /** Who recognises callers by this policy; absent = who was bound at the start. */
  readonly resolver?: PrincipalResolver;
}

/** The schemes that this version has a reader for. */
export const SECRET_SCHEMES: readonly string[] = ['env', 'file', 'vault', 'oauth+https', 'oauth+http'];

export interface PolicyFileOptions {
  readonly local: readonly CatalogueItem[];
  readonly purpose?: 'validate' | 'serve';
  /** What the upstreams of a policy have, as far as that is known; asked once, when the policy is otherwise in order. */
  readonly upstreams?: (policy: Policy) => Promise<Upstreams | undefined>;
}

type Upstreams = ReadonlyMap<string, readonly CatalogueItem[]>;

/**
 * Reads and compiles a policy, with the upstreams' catalogue when there is one: a file, and then nothing is contacted, or from
 * where else it is written to be. Rejects with a PolicyFormError or a PolicyUnreachableError.
 */
export async function loadPolicyFile(
  written: string,
  { local, purpose, upstreams }: PolicyFileOptions,
): Promise<LoadedPolicy> {
  const { text, version } = await policyText(written);
  const options = { secretSchemes: SECRET_SCHEMES, ...(purpose && { purpose }) };
  const alone = loadPolicy(text, { ...options, catalogue: { local } });
  const known = alone.policy && (await upstreams?.(alone.policy));
  const loaded = known === undefined ? alone : loadPolicy(text, { ...options, catalogue: { local, upstreams: known } });
  return version === undefined ? loaded : { ...loaded, version };
}
