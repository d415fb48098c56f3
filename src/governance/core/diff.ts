/**
 * What would change for callers if one artefact took the place of another: decisions, accounts, ceilings, subjects and
 * omissions. Places in the file and the order of grants are not differences; grants are known by their content (W-22).
 */
import type { EntryKind } from './catalogue.js';
import type { Compilation } from './compile.js';
import type { Diagnostic } from './diagnostic.js';
import { attributesOn, compared, effect, subjectsFor, type DataSubject, type Effect } from './diff-effect.js';
import { representatives, type Representative } from './diff-principals.js';
import { grantIdentity } from './grant.js';
import type { Pointer } from './pointer.js';
import type { Policy } from './policy.js';

export interface Change {
  readonly issuer: string;
  /** Those of the representative principal; for a static key, those that the later side declares. */
  readonly attributes: ReadonlyMap<string, string>;
  readonly capability: string;
  readonly subject: DataSubject;
  /** Absent when that side does not declare the capability. */
  readonly before?: Effect;
  readonly after?: Effect;
}

export interface EntryChange {
  readonly kind: EntryKind;
  readonly exposedName: string;
  /** Capability on each side; absent where the entry is not mapped. */
  readonly before?: string;
  readonly after?: string;
}

export type Difference =
  | {
      readonly comparable: true;
      readonly changes: readonly Change[];
      /** Grants that only one side has, by content. */
      readonly grants: { readonly removed: readonly Pointer[]; readonly added: readonly Pointer[] };
      /** Tools, resources and prompts that moved to another capability, appeared or went. */
      readonly entries: readonly EntryChange[];
      /** Static keys that became somebody else: another subject or other attribute values. */
      readonly identities: readonly string[];
      /** There were too many joint selectors to ask about all. */
      readonly partial: boolean;
    }
  | { readonly comparable: false; readonly before: readonly Diagnostic[]; readonly after: readonly Diagnostic[] };

/** A side that does not compile has no decisions; its errors are the answer. */
export function diff(before: Compilation, after: Compilation): Difference {
  if (before.policy === undefined || after.policy === undefined)
    return { comparable: false, before: errors(before), after: errors(after) };
  const sides = { before: before.policy, after: after.policy };
  const asked = representatives(sides.before, sides.after);
  return {
    comparable: true,
    changes: asked.principals.flatMap((representative) => changesFor(representative, sides)),
    grants: grantsOnlyIn(sides),
    entries: entryChanges(sides),
    identities: [...sides.before.issuers.keys()].filter((id) => becameSomebodyElse(id, sides)).sort(),
    partial: asked.partial,
  };
}

interface Sides {
  readonly before: Policy;
  readonly after: Policy;
}

const errors = ({ policy, diagnostics }: Compilation): readonly Diagnostic[] =>
  policy === undefined ? diagnostics.filter(({ severity }) => severity === 'error') : [];

function changesFor(representative: Representative, { before, after }: Sides): readonly Change[] {
  const capabilities = [...new Set([...before.capabilities, ...after.capabilities].map(({ id }) => id))].sort();
  return capabilities.flatMap((capability) =>
    subjectsFor(capability, [before, after]).flatMap((subject) => {
      const was = effect(before, representative, capability, subject);
      const is = effect(after, representative, capability, subject);
      if (compared(was) === compared(is)) return [];
      const { issuer } = representative;
      return [
        {
          issuer,
          attributes: attributesOn(after.issuers.has(issuer) ? after : before, representative),
          capability,
          subject,
          ...(was && { before: was }),
          ...(is && { after: is }),
        },
      ];
    }),
  );
}

function grantsOnlyIn({ before, after }: Sides): {
  readonly removed: readonly Pointer[];
  readonly added: readonly Pointer[];
} {
  const only = (one: Policy, other: Policy): readonly Pointer[] => {
    const known = new Set(other.grants.map(grantIdentity));
    return one.grants.filter((grant) => !known.has(grantIdentity(grant))).map(({ path }) => path);
  };
  return { removed: only(before, after), added: only(after, before) };
}

function entryChanges({ before, after }: Sides): readonly EntryChange[] {
  const names = new Map([...before.index, ...after.index]);
  return [...names]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([key, { kind, exposedName }]) => {
      const [was, is] = [before.index.get(key)?.capability, after.index.get(key)?.capability];
      if (was === is) return [];
      return [{ kind, exposedName, ...(was !== undefined && { before: was }), ...(is !== undefined && { after: is }) }];
    });
}

function becameSomebodyElse(id: string, { before, after }: Sides): boolean {
  const [was, is] = [before.issuers.get(id), after.issuers.get(id)];
  if (was?.kind !== 'static-key' || is?.kind !== 'static-key') return false;
  const same =
    was.subject === is.subject &&
    was.attributes.size === is.attributes.size &&
    [...was.attributes].every(([name, value]) => is.attributes.get(name) === value);
  return !same;
}
