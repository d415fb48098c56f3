/**
 * Law: an artefact with an error has no policy at all, and every finding is told at once. Warnings do not block.
 * The document has passed the schema; everything the schema cannot say is checked here.
 */
import { accountId, type AccountRecord } from './account.js';
import { exposedName, exposedNameOf, itemName, mappingsOf, unmappedItems, type Mapping } from './catalogue.js';
import { ceiling } from './ceiling.js';
import { checkRealized, checkTerms } from './checks/capabilities.js';
import type { Check, CheckedArtefact, CompileOptions } from './checks/findings.js';
import { checkAmbiguity, checkGrantReferences, selectorOf } from './checks/grants.js';
import { checkAccounts, checkIssuers } from './checks/identities.js';
import { checkIds } from './checks/ids.js';
import { checkUpstreams } from './checks/upstreams.js';
import type { Diagnostic } from './diagnostic.js';
import type { GrantDocument, IssuerDocument, PolicyDocument } from './document.js';
import type { Grant } from './grant.js';
import { pointer } from './pointer.js';
import { buildIndex, buildRuleset, type GovernedEntry, type Policy } from './policy.js';
import type { Issuer } from './principal.js';

export type { CompileOptions } from './checks/findings.js';

export interface Compilation {
  /** Absent when any diagnostic is an error. */
  readonly policy?: Policy;
  readonly diagnostics: readonly Diagnostic[];
}

const CHECKS: readonly Check[] = [
  checkIds,
  checkUpstreams,
  checkIssuers,
  checkGrantReferences,
  checkAmbiguity,
  checkTerms,
  checkRealized,
  checkAccounts,
];

export function compile(document: PolicyDocument, options: CompileOptions = {}): Compilation {
  const catalogue = options.catalogue ?? {};
  const artefact: CheckedArtefact = { document, catalogue, options, mappings: mappingsOf(document, catalogue) };
  const diagnostics = CHECKS.flatMap((check) => check(artefact));
  if (diagnostics.some(({ severity }) => severity === 'error')) return { diagnostics };
  return { policy: build(artefact), diagnostics };
}

function build({ document, catalogue, mappings }: CheckedArtefact): Policy {
  const accounts = new Map(
    document.accounts.map((account, index): [AccountRecord['id'], AccountRecord] => [
      accountId(account.id),
      {
        id: accountId(account.id),
        disabled: account.disabled ?? false,
        secretRef: account.secret.ref,
        path: pointer('accounts', index),
      },
    ]),
  );
  const capabilities = document.capabilities.map((capability, index) => ({
    ...capability,
    path: pointer('capabilities', index),
  }));
  const grants = document.grants.map((grant, index) => grantOf(grant, pointer('grants', index), accounts));
  const entries = mappings.map(entryOfMapping);
  return {
    ruleset: buildRuleset(capabilities, new Set(entries.map(({ capability }) => capability)), grants),
    capabilities,
    issuers: new Map(document.principals.issuers.map((issuer, index) => [issuer.id, issuerOf(issuer, index)])),
    grants,
    upstreams: new Map(
      (document.upstreams ?? []).map(({ id, transport }, index) => [
        id,
        { transport, path: pointer('upstreams', index) },
      ]),
    ),
    accounts,
    entries,
    index: buildIndex(entries),
    unmapped: unmappedItems(document, catalogue, mappings).map(({ kind, name }) => ({ kind, name })),
  };
}

function grantOf(grant: GrantDocument, path: string, accounts: ReadonlyMap<string, AccountRecord>): Grant {
  const id = accountId(grant.using);
  return {
    path,
    to: selectorOf(grant),
    capabilities: new Set(grant.capabilities),
    // An account that does not resolve is a disabled one, never an absent one.
    account: { id, disabled: accounts.get(id)?.disabled ?? true },
    omit: grant.omit ?? [],
    ...(grant.limits && { calls: ceiling(grant.limits.calls, grant.limits.per) }),
    ...(grant.distinctSubjects && {
      distinctSubjects: ceiling(grant.distinctSubjects.count, grant.distinctSubjects.per),
    }),
    ...(grant.subject && { subjectEquals: grant.subject.equals }),
  };
}

const issuerOf = (issuer: IssuerDocument, index: number): Issuer => ({
  id: issuer.id,
  kind: issuer.kind,
  attributes: new Map(Object.entries(issuer.attributes ?? {})),
  path: pointer('principals', 'issuers', index),
  ...(issuer.subject !== undefined && { subject: issuer.subject }),
  ...(issuer.secret !== undefined && { secretRef: issuer.secret.ref }),
  ...(issuer.discovery !== undefined && { discovery: issuer.discovery }),
  ...(issuer.audience !== undefined && { audience: issuer.audience }),
  ...(issuer.scopes !== undefined && { scopes: issuer.scopes }),
});

const entryOfMapping = (mapping: Mapping): GovernedEntry => ({
  kind: mapping.kind,
  exposedName: exposedNameOf(mapping),
  upstream: mapping.upstream,
  transport: mapping.transport,
  name: mapping.item === undefined ? mapping.name : itemName(mapping.item),
  capability: mapping.capability,
  path: mapping.path,
  parts: (mapping.item?.parts ?? []).map((part) => exposedName(mapping.transport, mapping.upstream, part)),
});
