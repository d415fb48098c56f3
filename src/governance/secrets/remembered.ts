import type { Now } from '../ports.js';
import type { SecretScheme } from './secret-text.js';

/**
 * Keys of issuers are compared with whatever anybody sends: read anew for each request, they would let outsiders hammer the
 * store that they are kept in. Failures are remembered too. A rotated key counts after `milliseconds`.
 */
export function remembered(scheme: SecretScheme, now: Now, milliseconds: number): SecretScheme {
  const known = new Map<string, { readonly look: Promise<string>; readonly at: number }>();
  return (rest) => {
    const last = known.get(rest);
    if (last !== undefined && now() - last.at < milliseconds) return last.look;
    // Nobody's signal: whoever comes next waits for the same look.
    const look = scheme(rest, new AbortController().signal);
    known.set(rest, { look, at: now() });
    return look;
  };
}
