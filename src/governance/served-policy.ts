import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { CatalogueItem, Policy } from './core/index.js';
import { loadPolicy, type LoadedPolicy } from './policy-file/load-policy.js';
import type { Locate } from './policy-file/positions.js';
import { MAX_ARTEFACT_BYTES } from './policy-file/yaml-text.js';
import type { PrincipalResolver } from './ports.js';
import type { UpstreamTools } from './upstreams/upstream-tools.js';

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

/** The file could not be read; `code` is the system's (`ENOENT`). Neither path nor content is in it. */
export class PolicyUnreachableError extends Error {
  override readonly name = 'PolicyUnreachableError';

  constructor(readonly code: string) {
    super(`the policy file cannot be read (${code})`);
  }
}

/** The schemes that this version has a reader for. */
export const SECRET_SCHEMES: readonly string[] = ['env', 'file'];

export interface PolicyFileOptions {
  readonly local: readonly CatalogueItem[];
  readonly purpose?: 'validate' | 'serve';
  /** What the upstreams of a policy have, as far as that is known; asked once, when the policy is otherwise in order. */
  readonly upstreams?: (policy: Policy) => Promise<Upstreams | undefined>;
}

type Upstreams = ReadonlyMap<string, readonly CatalogueItem[]>;

/** Reads a policy file and compiles it, with the upstreams' catalogue when there is one. Rejects with a PolicyUnreachableError. */
export async function loadPolicyFile(
  path: string,
  { local, purpose, upstreams }: PolicyFileOptions,
): Promise<LoadedPolicy> {
  const text = await loadText(path);
  const options = { secretSchemes: SECRET_SCHEMES, ...(purpose && { purpose }) };
  const alone = loadPolicy(text, { ...options, catalogue: { local } });
  const known = alone.policy && (await upstreams?.(alone.policy));
  return known === undefined ? alone : loadPolicy(text, { ...options, catalogue: { local, upstreams: known } });
}

/** UTF-8, at most one byte more than an artefact may have, which its reader then refuses. Rejects with a PolicyUnreachableError. */
export async function loadText(path: string): Promise<string> {
  try {
    // Non-blocking, because opening a named pipe that nobody writes to would hang the start.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const bytes = Buffer.alloc(MAX_ARTEFACT_BYTES + 1);
      let length = 0;
      for (let count = -1; count !== 0 && length < bytes.length; length += count)
        count = (await file.read(bytes, length, bytes.length - length)).bytesRead;
      return new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, length));
    } finally {
      await file.close();
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new PolicyUnreachableError(typeof code === 'string' ? code : 'unknown');
  }
}
