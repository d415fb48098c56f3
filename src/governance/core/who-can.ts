import type { AccountView } from './account.js';
import type { Ceiling } from './ceiling.js';
import type { Pointer } from './pointer.js';
import type { GovernedEntry, Policy } from './policy.js';

/** One grant that opens a capability. Exact, because nothing can deny what a grant gives but its own terms. */
export interface Holder {
  readonly path: Pointer;
  readonly issuer: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly account: AccountView;
  readonly calls?: Ceiling;
  readonly distinctSubjects?: Ceiling;
  readonly subjectEquals?: string;
  readonly omit: readonly string[];
  /** A ceiling of zero or a disabled account: the grant stands and gives nothing. */
  readonly suspended: boolean;
}

export interface Reachability {
  readonly capability: string;
  readonly declared: boolean;
  readonly realized: boolean;
  /** The declaration, when there is one. */
  readonly path?: Pointer;
  readonly holders: readonly Holder[];
  readonly entries: readonly GovernedEntry[];
}

export function whoCan(policy: Policy, capability: string): Reachability {
  const declared = policy.ruleset.capabilities.get(capability);
  const grants = policy.ruleset.grants.get(capability) ?? [];
  return {
    capability,
    declared: declared !== undefined,
    realized: declared?.realized ?? false,
    ...(declared !== undefined && { path: declared.path }),
    holders: grants.map((grant) => ({
      path: grant.path,
      issuer: grant.to.issuer,
      attributes: grant.to.attributes,
      account: grant.account,
      ...(grant.calls !== undefined && { calls: grant.calls }),
      ...(grant.distinctSubjects !== undefined && { distinctSubjects: grant.distinctSubjects }),
      ...(grant.subjectEquals !== undefined && { subjectEquals: grant.subjectEquals }),
      omit: grant.omit,
      suspended: grant.account.disabled || grant.calls?.limit === 0 || grant.distinctSubjects?.limit === 0,
    })),
    entries: policy.entries.filter((entry) => entry.capability === capability),
  };
}
