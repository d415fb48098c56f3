/** What one side of a comparison does for one principal: a decision without its places. */
import type { Ceiling, Charge } from './ceiling.js';
import type { ReasonCode } from './decision.js';
import type { Representative } from './diff-principals.js';
import { evaluate, NOT_CONSULTED, type SubjectFact } from './evaluate.js';
import type { Pointer } from './pointer.js';
import type { Policy } from './policy.js';
import type { Principal, PrincipalId } from './principal.js';

/** Whose data the compared call asks for: anybody's, somebody else's, or the principal's own by one attribute. */
export type DataSubject = 'any' | 'other' | { readonly own: string };

export interface Effect {
  /** `unresolved`: this side knows no such issuer. */
  readonly outcome: 'allow' | 'deny' | 'unresolved';
  readonly code: ReasonCode | 'issuer_unknown';
  readonly account?: string;
  readonly calls: readonly Ceiling[];
  readonly distinctSubjects: readonly Ceiling[];
  readonly omit: readonly string[];
  /** Place on this side; not compared. */
  readonly path?: Pointer;
}

/** Bindings split the question: one's own data by each bound attribute, and everybody else's. */
export function subjectsFor(capability: string, sides: readonly Policy[]): readonly DataSubject[] {
  const bound = sides.flatMap(({ ruleset }) =>
    (ruleset.grants.get(capability) ?? []).flatMap(({ subjectEquals }) => subjectEquals ?? []),
  );
  if (bound.length === 0) return ['any'];
  return ['other', ...[...new Set(bound)].sort().map((own) => ({ own }))];
}

export function effect(
  policy: Policy,
  representative: Representative,
  capability: string,
  subject: DataSubject,
): Effect | undefined {
  if (!policy.ruleset.capabilities.has(capability)) return undefined;
  if (!policy.issuers.has(representative.issuer))
    return { outcome: 'unresolved', code: 'issuer_unknown', calls: [], distinctSubjects: [], omit: [] };
  const decision = evaluate(policy.ruleset, {
    principal: principalOn(policy, representative),
    capability,
    subject: subjectFact(subject),
    at: 0,
    usage: NOT_CONSULTED,
  });
  const { code, path } = decision.reason;
  if (decision.outcome === 'deny') return { outcome: 'deny', code, path, calls: [], distinctSubjects: [], omit: [] };
  return {
    outcome: 'allow',
    code,
    path,
    account: decision.account,
    calls: ceilings(decision.charges, 'calls'),
    distinctSubjects: ceilings(decision.charges, 'subjects'),
    omit: decision.omit,
  };
}

/** Two grants with equal ceilings, counted apart but at once, hold a caller exactly as one does. */
function ceilings(charges: readonly Charge[], kind: Charge['kind']): readonly Ceiling[] {
  const found = new Map<string, Ceiling>();
  for (const { limit, windowMs, per, ...charge } of charges)
    if (charge.kind === kind) found.set(`${limit}/${windowMs}`, { limit, windowMs, per });
  return [...found.values()];
}

export const compared = (side: Effect | undefined): string =>
  side === undefined
    ? ''
    : JSON.stringify([
        side.outcome,
        side.code,
        side.account ?? null,
        numbers(side.calls),
        numbers(side.distinctSubjects),
        side.omit,
      ]);

const numbers = (limits: readonly Ceiling[]): readonly (readonly number[])[] =>
  limits.map(({ limit, windowMs }) => [limit, windowMs]);

/** A name no identifier can have: what the binding to one attribute is met with. */
const ownIdentifier = (attribute: string): string => `own ${attribute}`;

const subjectFact = (subject: DataSubject): SubjectFact =>
  subject === 'any'
    ? NOT_CONSULTED
    : { kind: 'is', canonical: subject === 'other' ? 'other' : ownIdentifier(subject.own) };

export function attributesOn(
  policy: Policy,
  { issuer, attributes, holder }: Representative,
): ReadonlyMap<string, string> {
  const declared = policy.issuers.get(issuer);
  if (holder && declared?.kind === 'static-key') return declared.attributes;
  return new Map([...attributes].filter(([name]) => declared?.attributes.has(name)));
}

/** Every attribute the issuer declares is taken to be there as an identifier, so that bindings are compared, not absences. */
function principalOn(policy: Policy, representative: Representative): Principal {
  const { issuer } = representative;
  const names = [...(policy.issuers.get(issuer)?.attributes.keys() ?? [])];
  return {
    id: `${issuer}:representative` as PrincipalId,
    issuer,
    subject: 'representative',
    attributes: attributesOn(policy, representative),
    identifiers: new Map(names.map((name) => [name, ownIdentifier(name)])),
  };
}
