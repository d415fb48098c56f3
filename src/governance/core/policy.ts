import type { AccountRegistry } from './account.js';
import type { Capability } from './capability.js';
import type { EntryKind } from './catalogue.js';
import type { TransportDocument } from './document.js';
import type { Grant } from './grant.js';
import type { Pointer } from './pointer.js';
import type { Issuer } from './principal.js';

/** A tool, resource or prompt under the name that callers see. */
export interface GovernedEntry {
  readonly kind: EntryKind;
  readonly exposedName: string;
  readonly upstream: string;
  readonly transport: TransportDocument['kind'];
  /** Its name where it lives; a resource's URI when that is known. */
  readonly name: string;
  readonly capability: string;
  /** The mapping. */
  readonly path: Pointer;
  /** Exposed names of the tools whose decisions a composite needs. */
  readonly parts: readonly string[];
}

/** All that a decision may look at: no secret reference, no transport address. Immutable; safe to write out. */
export interface Ruleset {
  readonly capabilities: ReadonlyMap<string, { readonly path: Pointer; readonly realized: boolean }>;
  /** By capability, in the order of the file. */
  readonly grants: ReadonlyMap<string, readonly Grant[]>;
}

/** An artefact without errors, compiled once. Nothing in it ever changes. */
export interface Policy {
  readonly ruleset: Ruleset;
  readonly capabilities: readonly Capability[];
  readonly issuers: ReadonlyMap<string, Issuer>;
  readonly grants: readonly Grant[];
  readonly upstreams: ReadonlyMap<string, { readonly transport: TransportDocument; readonly path: Pointer }>;
  /** Where secret references stay; a decision never sees it. */
  readonly accounts: AccountRegistry;
  readonly entries: readonly GovernedEntry[];
  /** The same, for `entryOf`. */
  readonly index: ReadonlyMap<string, GovernedEntry>;
  /** Real things without a mapping: they exist for nobody. */
  readonly unmapped: readonly { readonly kind: EntryKind; readonly name: string }[];
}

const entryKey = (kind: EntryKind, name: string): string => `${kind} ${name}`;

/** The entry a caller names, or undefined: unmapped and non-existent are the same here. */
export const entryOf = (policy: Policy, kind: EntryKind, name: string): GovernedEntry | undefined =>
  policy.index.get(entryKey(kind, name));

export const buildIndex = (entries: readonly GovernedEntry[]): ReadonlyMap<string, GovernedEntry> =>
  new Map(entries.map((entry) => [entryKey(entry.kind, entry.exposedName), entry]));

export function buildRuleset(
  capabilities: readonly Capability[],
  realized: ReadonlySet<string>,
  grants: readonly Grant[],
): Ruleset {
  return {
    capabilities: new Map(capabilities.map(({ id, path }) => [id, { path, realized: realized.has(id) }])),
    grants: new Map(capabilities.map(({ id }) => [id, grants.filter((grant) => grant.capabilities.has(id))])),
  };
}
