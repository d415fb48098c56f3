import type { Issuer, ResolvedPrincipal } from '../core/index.js';

const CLAIM = 'claim:';

/** UTF-16 units of a subject or an attribute: they become names of counters and lines of the audit. */
const LONGEST = 256;

type Claims = Readonly<Record<string, unknown>>;

/**
 * Who a verified token is about, as far as the issuer declares it; undefined when it names nobody. Attributes have one value:
 * of a claim with several none is taken, because whichever it was would be a choice (spec §3.3).
 */
export function principalOf(claims: Claims, { id, attributes }: Issuer): ResolvedPrincipal | undefined {
  const { sub } = claims;
  if (typeof sub !== 'string' || sub.trim() === '' || !isShortText(sub)) return undefined;
  const found: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [name, source] of attributes) {
    const claim = source.slice(CLAIM.length);
    const value = Object.hasOwn(claims, claim) ? singleValue(claims[claim]) : undefined;
    if (value !== undefined) found[name] = value;
  }
  return { issuer: id, subject: sub, attributes: found };
}

/** Scopes of a token: `scope` (RFC 9068, words in one text) or `scp` (a list, or words too). */
export function scopesOf({ scope, scp }: Claims): ReadonlySet<string> {
  const words = (value: unknown): readonly string[] =>
    typeof value === 'string'
      ? value.split(' ')
      : Array.isArray(value)
        ? value.filter((one) => typeof one === 'string')
        : [];
  return new Set([...words(scope), ...words(scp)]);
}

function singleValue(value: unknown): string | undefined {
  const [only, ...others] = Array.isArray(value) ? (value as readonly unknown[]) : [value];
  if (others.length > 0 || !['string', 'number', 'boolean'].includes(typeof only)) return undefined;
  const text = String(only);
  return isShortText(text) ? text : undefined;
}

const isShortText = (text: string): boolean => text.length <= LONGEST && !/[\u0000-\u001f\u007f-\u009f]/.test(text);
