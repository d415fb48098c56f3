/**
 * Whom a comparison asks about. A decision depends only on which grants match, so it is enough to ask for one principal
 * per issuer without attributes, one per selector, and one per set of selectors that somebody can match together. A static
 * key is one principal and has no others.
 */
import { selectorIdentity } from './grant.js';
import type { Policy } from './policy.js';
import { overlaps, type Selector } from './selector.js';

/** Joint selectors grow with every subset; beyond this many per issuer the comparison says that it is partial. */
export const MAX_REPRESENTATIVES = 2_000;

export interface Representative extends Selector {
  /** The holder of a static key: its attributes are those that each side declares. */
  readonly holder: boolean;
}

export interface Representatives {
  readonly principals: readonly Representative[];
  readonly partial: boolean;
}

export function representatives(before: Policy, after: Policy): Representatives {
  const issuers = [...new Set([...before.issuers.keys(), ...after.issuers.keys()])].sort();
  let partial = false;
  const principals = issuers.flatMap((issuer) => {
    const kinds = [before, after].flatMap((policy) => policy.issuers.get(issuer)?.kind ?? []);
    const found: Representative[] = [];
    if (kinds.includes('static-key')) found.push({ issuer, attributes: new Map(), holder: true });
    if (kinds.some((kind) => kind !== 'static-key')) {
      const joint = closure(issuer, [before, after]);
      partial ||= joint.partial;
      found.push(...joint.selectors.map((selector) => ({ ...selector, holder: false })));
    }
    return found;
  });
  return { principals, partial };
}

function closure(
  issuer: string,
  sides: readonly Policy[],
): { readonly selectors: readonly Selector[]; readonly partial: boolean } {
  const written = new Map<string, Selector>();
  for (const { grants } of sides)
    for (const { to } of grants) if (to.issuer === issuer) written.set(selectorIdentity(to), to);
  const nobody: Selector = { issuer, attributes: new Map() };
  const found = new Map<string, Selector>([[selectorIdentity(nobody), nobody]]);
  for (const selector of [...written.values()].sort(byIdentity)) {
    for (const known of [...found.values()]) {
      if (!overlaps(known, selector)) continue;
      if (found.size >= MAX_REPRESENTATIVES) return { selectors: [...found.values()], partial: true };
      const joint = { issuer, attributes: new Map([...known.attributes, ...selector.attributes]) };
      found.set(selectorIdentity(joint), joint);
    }
  }
  return { selectors: [...found.values()], partial: false };
}

const byIdentity = (one: Selector, other: Selector): number =>
  selectorIdentity(one) < selectorIdentity(other) ? -1 : 1;
