/** RFC 6901 pointer into the artefact. An opaque string to everybody but the reader of the artefact. */
export type Pointer = string;

const escaped = (token: string | number): string => String(token).replaceAll('~', '~0').replaceAll('/', '~1');

/** Builds a pointer; attribute names may contain `/` and `~` (spec W-25). No tokens give the whole document, `""`. */
export const pointer = (...tokens: readonly (string | number)[]): Pointer =>
  tokens.map((token) => `/${escaped(token)}`).join('');

/** The tokens of a pointer, or undefined when it is not one. A leading `#` is tolerated (spec §2.6). */
export function pointerTokens(path: Pointer): readonly string[] | undefined {
  const text = path.startsWith('#') ? path.slice(1) : path;
  if (text === '') return [];
  if (!text.startsWith('/') || /~(?![01])/.test(text)) return undefined;
  return text
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Where absences live: "no grant" has a place too (spec §2.6). */
export const ANCHORS = {
  capabilities: '/capabilities',
  upstreams: '/upstreams',
  accounts: '/accounts',
  issuers: '/principals/issuers',
  grants: '/grants',
} as const;
