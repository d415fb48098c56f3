/** `oauth+https://…`, taken apart. */
export interface OAuthReference {
  readonly tokenUrl: string;
  readonly client: string;
  /** Another reference: where the client's own secret is. */
  readonly secret: string;
  readonly scope?: string;
  readonly audience?: string;
  /** How the client proves itself: by HTTP Basic, which every server must know (RFC 6749 §2.3.1), or in the body. */
  readonly auth: 'basic' | 'post';
}

const KNOWN = ['client', 'secret', 'scope', 'audience', 'auth'];

/**
 * `<host>/<path>?client=…&secret=<reference>[&scope=…][&audience=…][&auth=post]` after the scheme. Without the rules of forms: a `+`
 * is a plus, and a `#` belongs to the reference that is inside (spec §3.5). Undefined when anything is missing, twice, or not known.
 */
export function oauthReference(scheme: 'https' | 'http', rest: string): OAuthReference | undefined {
  const [, place, query] = /^([^?#]+)\?(.+)$/su.exec(rest) ?? [];
  if (place === undefined || query === undefined) return undefined;
  const given = new Map<string, string>();
  for (const pair of query.split('&')) {
    const at = pair.indexOf('=');
    const name = pair.slice(0, at);
    const value = decoded(pair.slice(at + 1));
    if (at < 1 || value === undefined || value === '' || !KNOWN.includes(name) || given.has(name)) return undefined;
    given.set(name, value);
  }
  const [client, secret, scope, audience, auth = 'basic'] = KNOWN.map((name) => given.get(name));
  if (client === undefined || secret === undefined || (auth !== 'basic' && auth !== 'post')) return undefined;
  // A token that is asked for with a token that is asked for … has no end that we could see.
  if (/^oauth\+/i.test(secret)) return undefined;
  return {
    ...{ tokenUrl: `${scheme}://${place}`, client, secret, auth },
    ...(scope !== undefined && { scope }),
    ...(audience !== undefined && { audience }),
  };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
