import type { Allow, Decision } from './decision.js';
import { evaluate, NOT_CONSULTED, type SubjectFact } from './evaluate.js';
import { entryOf, type GovernedEntry, type Policy } from './policy.js';
import type { Principal } from './principal.js';

/** What a principal sees: every declared capability, evaluated as a call is, with usage and subject not consulted. */
export interface View {
  /** Equal for principals that see the same capabilities: lists are rendered once per key, never per principal. */
  readonly key: string;
  readonly capabilities: ReadonlyMap<string, Allow>;
}

export function visible(policy: Policy, principal: Principal, at: number): View {
  const capabilities = new Map<string, Allow>();
  for (const { id } of policy.capabilities) {
    const decision = evaluate(policy.ruleset, {
      principal,
      capability: id,
      at,
      subject: NOT_CONSULTED,
      usage: NOT_CONSULTED,
    });
    if (decision.outcome === 'allow') capabilities.set(id, decision);
  }
  // Capability ids have no space (schema), so the key is unambiguous; the order is that of the artefact.
  return { key: [...capabilities.keys()].join(' '), capabilities };
}

/** Entries of a view, in the order of the artefact. */
export const visibleEntries = (policy: Policy, view: View): readonly GovernedEntry[] =>
  policy.entries.filter((entry) => view.capabilities.has(entry.capability));

/** The decisions for one call of an entry: one for itself, and one for each part of a composite. */
export interface CallDecisions {
  readonly own: Decision;
  /** By the part's exposed name; empty when the call itself is denied. A part that is not mapped is absent: denied. */
  readonly parts: ReadonlyMap<string, Decision>;
}

export function decideCall(
  policy: Policy,
  entry: GovernedEntry,
  asked: { readonly principal: Principal; readonly subject: SubjectFact; readonly at: number },
): CallDecisions {
  const decide = (capability: string): Decision =>
    evaluate(policy.ruleset, { ...asked, capability, usage: NOT_CONSULTED });
  const own = decide(entry.capability);
  const parts = new Map<string, Decision>();
  if (own.outcome === 'allow') {
    for (const name of entry.parts) {
      const part = entryOf(policy, 'tool', name);
      if (part !== undefined) parts.set(name, decide(part.capability));
    }
  }
  return { own, parts };
}
