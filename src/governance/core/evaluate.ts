/**
 * Law: list and call are one function. Facts in, a decision out; nothing here asks anybody anything. First rule that
 * applies (spec §2.9, completed by issue 4):
 *
 *  1 capability not declared · 2 nothing real behind it · 3 no grant matches · 4 grants name several accounts ·
 *  5 an account is disabled · 6 the subject is not the bound one · 7 a ceiling of zero (suspended) ·
 *  8 usage unknown under a ceiling · 9 a ceiling exhausted · 10 granted
 *
 * Subject bindings widen, as capabilities do: a grant whose binding is not met does not match, and brings neither its
 * ceilings nor its omissions. Ceilings and omissions restrict: those of every grant that matches apply.
 */
import { exhausted, byRate, type Charge, type Count } from './ceiling.js';
import { deny, type Allow, type Decision } from './decision.js';
import { callsKey, subjectsKey, type Grant } from './grant.js';
import { ANCHORS } from './pointer.js';
import type { Ruleset } from './policy.js';
import type { Principal } from './principal.js';
import { selects } from './selector.js';

/** Whose data a call asks for. */
export type SubjectFact =
  /** A list, or a question about nobody yet: a binding counts as met if the principal could ever meet it. */
  | { readonly kind: 'not-consulted' }
  /** The entry concerns nobody in particular. */
  | { readonly kind: 'none' }
  /** It should name somebody and cannot be parsed; the caller of `evaluate` refuses the call before it runs. */
  | { readonly kind: 'unreadable' }
  | { readonly kind: 'is'; readonly canonical: string };

/** What is known of the counters. */
export type UsageFact =
  /** Ceilings are returned as charges, for the shell to consume; only a ceiling of zero denies. */
  | { readonly kind: 'not-consulted' }
  /** The store did not answer: exhausted, wherever there is a ceiling. */
  | { readonly kind: 'unknown' }
  /** `of` answers undefined for a counter that does not exist yet. Pure. */
  | { readonly kind: 'counted'; readonly of: (charge: Charge) => Count | undefined };

export interface Question {
  readonly principal: Principal;
  readonly capability: string;
  readonly subject: SubjectFact;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly usage: UsageFact;
}

export const NOT_CONSULTED = { kind: 'not-consulted' } as const;

export function evaluate(ruleset: Ruleset, question: Question): Decision {
  const { capability, principal, subject } = question;
  const declared = ruleset.capabilities.get(capability);
  if (declared === undefined) return deny('capability_not_declared', ANCHORS.capabilities, capability);
  if (!declared.realized) return deny('capability_not_realized', declared.path, capability);

  const candidates = (ruleset.grants.get(capability) ?? []).filter((grant) => selects(grant.to, principal));
  const [first] = candidates;
  if (first === undefined) return deny('no_grant_matches', ANCHORS.grants, capability);
  // The compiler refuses this; a ruleset built in another way must not slip through (spec §2.7).
  if (candidates.some((grant) => grant.account.id !== first.account.id))
    return deny('ambiguous_grant', first.path, capability);
  const disabled = candidates.find((grant) => grant.account.disabled);
  if (disabled !== undefined) return deny('account_disabled', disabled.path, disabled.account.id);

  const groups = possible(subject, candidates, principal)
    .map((asked) => candidates.filter((grant) => bindingMet(grant, principal, asked)))
    .filter((group) => group.length > 0);
  if (groups.length === 0) {
    const missing = candidates.every((grant) => !principal.identifiers.has(grant.subjectEquals ?? ''));
    return deny(missing ? 'subject_attribute_missing' : 'subject_not_allowed', first.path, capability);
  }
  const open = groups.filter((group) => !group.some(suspended));
  const told = open.length > 0 ? open : groups;
  const matching = candidates.filter((grant) => told.some((group) => group.includes(grant)));
  return underCeilings(allow(matching, question), question);
}

/**
 * A list asks for nobody yet, so it asks for each kind of subject a call could have: somebody else, and every identifier
 * that a binding could be met with. It shows what at least one of them may have; else a suspended grant for one's own
 * data would hide what another grant opens about everybody else.
 */
function possible(
  subject: SubjectFact,
  candidates: readonly Grant[],
  principal: Principal,
): readonly Exclude<SubjectFact, { kind: 'not-consulted' }>[] {
  if (subject.kind !== 'not-consulted') return [subject];
  const own = new Set(candidates.flatMap(({ subjectEquals }) => principal.identifiers.get(subjectEquals ?? '') ?? []));
  return [{ kind: 'none' }, ...[...own].map((canonical) => ({ kind: 'is', canonical }) as const)];
}

const suspended = (grant: Grant): boolean => grant.calls?.limit === 0 || grant.distinctSubjects?.limit === 0;

function bindingMet(grant: Grant, principal: Principal, subject: SubjectFact): boolean {
  if (grant.subjectEquals === undefined) return true;
  const own = principal.identifiers.get(grant.subjectEquals);
  return own !== undefined && subject.kind === 'is' && subject.canonical === own;
}

function allow(matching: readonly Grant[], { principal, capability, subject }: Question): Allow {
  const charges = new Map<string, Charge>();
  for (const grant of matching) {
    const { calls, distinctSubjects, path } = grant;
    if (calls !== undefined) {
      const key = callsKey(principal.id, capability, grant, calls);
      // Grants that say the same share one counter; charging it twice would halve their ceiling.
      if (!charges.has(key)) charges.set(key, { kind: 'calls', key, path, ...calls });
    }
    // Where there is no subject there is none to count; a ceiling of zero still suspends the grant.
    if (
      distinctSubjects !== undefined &&
      (subject.kind === 'is' || subject.kind === 'not-consulted' || distinctSubjects.limit === 0)
    ) {
      const key = subjectsKey(principal.id, grant, distinctSubjects);
      const whose = subject.kind === 'is' ? { subject: subject.canonical } : {};
      if (!charges.has(key)) charges.set(key, { kind: 'subjects', key, path, ...distinctSubjects, ...whose });
    }
  }
  const bound = matching.map((grant) => grant.subjectEquals);
  return {
    outcome: 'allow',
    reason: { code: 'granted', path: mostRestricted(matching).path, about: capability },
    account: matching[0]!.account.id,
    grants: matching.map((grant) => grant.path),
    charges: [...charges.values()].sort(byKindRateAndKey),
    subjectEquals: bound.includes(undefined) ? [] : [...new Set(bound as readonly string[])].sort(),
    omit: [...new Set(matching.flatMap((grant) => grant.omit))].sort(),
  };
}

/** The allow is explained by the grant that limits it most (the "winner" of spec §2.8); the first of equals. */
const mostRestricted = (matching: readonly Grant[]): Grant =>
  matching.reduce((best, grant) => (byRate(grant.calls, best.calls) < 0 ? grant : best));

/** An order of its own, so that the order of the file cannot change which code a denial carries (P8). */
const byKindRateAndKey = (one: Charge, other: Charge): number => {
  if (one.kind !== other.kind) return one.kind === 'calls' ? -1 : 1;
  return byRate(one, other) || (one.key < other.key ? -1 : Number(one.key > other.key));
};

function underCeilings(allowed: Allow, { usage, at }: Question): Decision {
  const zero = allowed.charges.find((charge) => charge.limit === 0);
  if (zero !== undefined) return refusedBy(allowed, zero);
  switch (usage.kind) {
    case 'not-consulted':
      return allowed;
    case 'unknown':
      return usageUnknown(allowed);
    case 'counted': {
      const spent = allowed.charges.find((charge) => exhausted(charge, usage.of(charge), at));
      return spent === undefined ? allowed : refusedBy(allowed, spent);
    }
  }
}

const refusedBy = (allowed: Allow, charge: Charge): Decision =>
  deny(charge.kind === 'calls' ? 'limit_exhausted' : 'distinct_subjects_exhausted', charge.path, allowed.reason.about);

function usageUnknown(allowed: Allow): Decision {
  const [charge] = allowed.charges;
  return charge === undefined ? allowed : deny('usage_unknown', charge.path, allowed.account);
}

/** What the usage store answered to all charges of one allow. */
export type Consumption =
  | { readonly kind: 'consumed' }
  /** Nothing was consumed. `key` is that of a charge that had no room. */
  | { readonly kind: 'exhausted'; readonly key: string }
  /** The store threw, or did not answer in time. */
  | { readonly kind: 'unknown' };

/** The last word: an allow whose charges were (not) consumed. An answer that names no charge of ours is no answer. */
export function settle(allowed: Allow, consumption: Consumption): Decision {
  if (consumption.kind === 'consumed') return allowed;
  if (consumption.kind === 'unknown') return usageUnknown(allowed);
  const spent = allowed.charges.find((charge) => charge.key === consumption.key);
  return spent === undefined ? usageUnknown(allowed) : refusedBy(allowed, spent);
}
