import type { CatalogueItem, Policy } from './core/index.js';
import { loadPolicy, type LoadedPolicy } from './policy-file/load-policy.js';
import type { Locate } from './policy-file/positions.js';
import { policyText } from './policy-source/policy-text.js';

export { loadText } from './policy-source/file-text.js';
export { PolicyFormError } from './policy-source/specifier.js';
export { PolicyUnreachableError } from './policy-source/unreachable.js';

/** What a server obeys: compiled once, before anything listens, and never changed. */
export interface ServedPolicy {
  readonly policy: Policy;
  readonly version: string;
  readonly locate: Locate;
}

/** The schemes that this version has a reader for. */
export const SECRET_SCHEMES: readonly string[] = ['env', 'file', 'vault', 'oauth+https', 'oauth+http'];

export interface PolicyFileOptions {
  readonly local: readonly CatalogueItem[];
  readonly purpose?: 'validate' | 'serve';
}

/**
 * Reads and compiles a policy: a file, and then nothing is contacted, or from where else it is written to be. Rejects with a
 * PolicyFormError or a PolicyUnreachableError.
 */
export async function loadPolicyFile(written: string, { local, purpose }: PolicyFileOptions): Promise<LoadedPolicy> {
  const { text, version } = await policyText(written);
  const loaded = loadPolicy(text, {
    catalogue: { local },
    secretSchemes: SECRET_SCHEMES,
    ...(purpose && { purpose }),
  });
  return version === undefined ? loaded : { ...loaded, version };
}
