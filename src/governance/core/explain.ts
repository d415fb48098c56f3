import type { Count } from './ceiling.js';
import type { Decision } from './decision.js';
import { evaluate, NOT_CONSULTED, type SubjectFact, type UsageFact } from './evaluate.js';
import type { Pointer } from './pointer.js';
import type { GovernedEntry, Policy } from './policy.js';
import { normalisePrincipal, type Canonical, type Issuer, type Principal, type Resolution } from './principal.js';
import { decideCall } from './visible.js';

/** A dry run: what would be decided, and why. */
export interface ExplainQuestion {
  readonly issuer: string;
  /** May be left out for a static key, which declares it. */
  readonly subject?: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly capability: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Calls already made in a window that began at `at`. Default 0, so that ceilings are shown (decision 0014). */
  readonly usage?: number | 'unknown' | 'not-consulted';
  /** Canonical identifier of whom the call would be about; absent = not consulted. */
  readonly dataSubject?: string;
}

/** What became of one grant that names the capability. */
export interface GrantFinding {
  readonly path: Pointer;
  readonly verdict: 'matches' | 'other_issuer' | 'attribute_differs' | 'subject_differs';
  /** Attributes that are missing or have another value. */
  readonly attributes: readonly string[];
}

export interface Explanation {
  readonly resolution: Resolution;
  /** Absent when there is no principal. */
  readonly decision?: Decision;
  readonly grants: readonly GrantFinding[];
  /** What the capability shows, empty on a denial; of a composite also its parts. */
  readonly entries: readonly { readonly entry: GovernedEntry; readonly parts: ReadonlyMap<string, Decision> }[];
}

export function explain(policy: Policy, question: ExplainQuestion, canonical: Canonical): Explanation {
  const resolution = dryPrincipal(policy.issuers.get(question.issuer), question, canonical);
  if (!resolution.ok) return { resolution, grants: [], entries: [] };
  const { principal } = resolution;
  const subject: SubjectFact =
    question.dataSubject === undefined ? NOT_CONSULTED : { kind: 'is', canonical: question.dataSubject };
  const { capability, at } = question;
  const decision = evaluate(policy.ruleset, { principal, capability, at, subject, usage: usageFact(question) });
  const shown = decision.outcome === 'allow' ? policy.entries.filter((entry) => entry.capability === capability) : [];
  return {
    resolution,
    decision,
    grants: findings(policy, principal, capability, subject),
    entries: shown.map((entry) => ({ entry, parts: decideCall(policy, entry, { principal, subject, at }).parts })),
  };
}

/** A static key declares who it is, so its values are the defaults; what other issuers declare are only sources (W-25). */
function dryPrincipal(issuer: Issuer | undefined, question: ExplainQuestion, canonical: Canonical): Resolution {
  const literal = issuer?.kind === 'static-key';
  return normalisePrincipal(
    issuer,
    {
      issuer: question.issuer,
      subject: question.subject ?? (literal ? (issuer.subject ?? '') : ''),
      attributes: { ...(literal ? Object.fromEntries(issuer.attributes) : {}), ...question.attributes },
    },
    canonical,
  );
}

function usageFact({ usage = 0, at }: ExplainQuestion): UsageFact {
  if (usage === 'unknown' || usage === 'not-consulted') return { kind: usage };
  const count: Count = { used: usage, windowStart: at };
  return { kind: 'counted', of: () => count };
}

function findings(
  policy: Policy,
  principal: Principal,
  capability: string,
  subject: SubjectFact,
): readonly GrantFinding[] {
  return (policy.ruleset.grants.get(capability) ?? []).map(({ path, to, subjectEquals }) => {
    if (to.issuer !== principal.issuer) return { path, verdict: 'other_issuer', attributes: [] };
    const differing = [...to.attributes]
      .filter(([name, value]) => principal.attributes.get(name) !== value)
      .map(([name]) => name);
    if (differing.length > 0) return { path, verdict: 'attribute_differs', attributes: differing };
    const own = subjectEquals === undefined ? undefined : principal.identifiers.get(subjectEquals);
    const met =
      subjectEquals === undefined || (own !== undefined && (subject.kind !== 'is' || subject.canonical === own));
    return met
      ? { path, verdict: 'matches', attributes: [] }
      : { path, verdict: 'subject_differs', attributes: subjectEquals === undefined ? [] : [subjectEquals] };
  });
}
