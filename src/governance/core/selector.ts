/** To whom a grant speaks: one issuer and a conjunction of attribute equalities; no equalities = everybody of that issuer. */
export interface Selector {
  readonly issuer: string;
  readonly attributes: ReadonlyMap<string, string>;
}

/** The issuer is equal and every listed attribute is equal; an attribute that is missing is not equal. */
export function selects(
  selector: Selector,
  principal: { readonly issuer: string; readonly attributes: ReadonlyMap<string, string> },
): boolean {
  if (selector.issuer !== principal.issuer) return false;
  for (const [name, value] of selector.attributes) if (principal.attributes.get(name) !== value) return false;
  return true;
}

/** Whether somebody can match both. Exact, because attributes have one value (spec §2.7, decision 0011). */
export function overlaps(one: Selector, other: Selector): boolean {
  if (one.issuer !== other.issuer) return false;
  for (const [name, value] of one.attributes) {
    const theirs = other.attributes.get(name);
    if (theirs !== undefined && theirs !== value) return false;
  }
  return true;
}
