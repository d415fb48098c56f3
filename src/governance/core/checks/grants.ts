import { error, type Diagnostic } from '../diagnostic.js';
import type { GrantDocument } from '../document.js';
import { ANCHORS, pointer } from '../pointer.js';
import { overlaps, type Selector } from '../selector.js';
import type { Check } from './findings.js';

/** Every name in a grant is declared somewhere. */
export const checkGrantReferences: Check = ({ document }) => {
  const capabilities = new Set(document.capabilities.map(({ id }) => id));
  const accounts = new Set(document.accounts.map(({ id }) => id));
  return document.grants.flatMap((grant, index) => {
    const path = pointer('grants', index);
    const findings: Diagnostic[] = [];
    const issuerIndex = document.principals.issuers.findIndex(({ id }) => id === grant.to.issuer);
    const issuer = document.principals.issuers[issuerIndex];
    if (issuer === undefined) {
      findings.push(
        error('unknown_issuer_in_grant', `${path}/to/issuer`, `the issuer '${grant.to.issuer}' is not declared`, {
          path: ANCHORS.issuers,
          note: 'issuers are declared here',
        }),
      );
    } else {
      // An issuer without attributes has no such place; its declaration is the nearest one.
      const where =
        pointer('principals', 'issuers', issuerIndex) + (issuer.attributes === undefined ? '' : '/attributes');
      const undeclared = (name: string, at: string): Diagnostic =>
        error('attribute_not_declared', at, `the issuer '${issuer.id}' does not declare the attribute '${name}'`, {
          path: where,
          note: 'what it declares',
        });
      const declares = (name: string): boolean => Object.hasOwn(issuer.attributes ?? {}, name);
      for (const name of Object.keys(grant.to.attributes ?? {}))
        if (!declares(name)) findings.push(undeclared(name, path + pointer('to', 'attributes', name)));
      if (grant.subject !== undefined && !declares(grant.subject.equals))
        findings.push(undeclared(grant.subject.equals, `${path}/subject/equals`));
    }
    for (const [at, capability] of grant.capabilities.entries())
      if (!capabilities.has(capability))
        findings.push(
          error(
            'unknown_capability_in_grant',
            `${path}/capabilities/${at}`,
            `the capability '${capability}' is not declared`,
            {
              path: ANCHORS.capabilities,
              note: 'capabilities are declared here',
            },
          ),
        );
    if (!accounts.has(grant.using))
      findings.push(
        error('unknown_account_in_grant', `${path}/using`, `the account '${grant.using}' is not declared`, {
          path: ANCHORS.accounts,
          note: 'accounts are declared here',
        }),
      );
    return findings;
  });
};

/** Somebody could match both and would have two accounts: never resolved by order or by how special a selector is (spec §2.7). */
export const checkAmbiguity: Check = ({ document }) => {
  const grants = document.grants.map((grant) => ({
    grant,
    to: selectorOf(grant),
    capabilities: new Set(grant.capabilities),
  }));
  return grants.flatMap((one, index) =>
    grants.slice(index + 1).flatMap((other, offset) => {
      if (one.grant.using === other.grant.using || !overlaps(one.to, other.to)) return [];
      const both = other.grant.capabilities.find((capability) => one.capabilities.has(capability));
      if (both === undefined) return [];
      return [
        error(
          'ambiguous_grant',
          pointer('grants', index),
          `somebody could match both grants of '${both}', and they name different accounts`,
          {
            path: pointer('grants', index + 1 + offset),
            note: 'the other grant',
          },
        ),
      ];
    }),
  );
};

export const selectorOf = (grant: GrantDocument): Selector => ({
  issuer: grant.to.issuer,
  attributes: new Map(Object.entries(grant.to.attributes ?? {})),
});
