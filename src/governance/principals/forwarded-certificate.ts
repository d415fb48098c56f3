import { LONGEST_NAME } from './distinguished-name.js';

/**
 * The subject in what a proxy says about its client's certificate: a bare distinguished name, or Envoy's
 * `x-forwarded-client-cert` (`By=…;Hash=…;Subject="CN=…"`). One hop: a header with two elements was begun by somebody before our
 * proxy, who may have been the client itself (spec W-2), and names nobody. Undefined when there is no subject to be had.
 */
export function subjectOf(forwarded: string): string | undefined {
  if (forwarded.length > 2 * LONGEST_NAME) return undefined;
  const pairs = pairsOf(forwarded);
  if (pairs === undefined) return ENVOY_KEY.test(forwarded) ? undefined : forwarded;
  const subjects = pairs.filter(([key]) => key.toLowerCase() === 'subject');
  const [subject] = subjects;
  return subjects.length === 1 ? subject?.[1] : undefined;
}

const ENVOY_KEYS = ['by', 'hash', 'cert', 'chain', 'subject', 'uri', 'dns'];

/** No component of a name is called so: somewhere in it, an element of Envoy's was added to what a client had written. */
const ENVOY_KEY = /(?:^|[,;])\s*(?:by|hash|cert|chain|subject|uri|dns)=/i;

const PAIR = /^\s*([A-Za-z]+)=("(?:[^"\\]|\\.)*"|[^;,"]*)\s*(;|$)/su;

/** Of one element whose every pair is Envoy's; undefined for anything else, two elements included. */
function pairsOf(forwarded: string): readonly (readonly [key: string, value: string])[] | undefined {
  const pairs: [string, string][] = [];
  let rest = forwarded;
  while (rest !== '') {
    const [whole, key, written] = PAIR.exec(rest) ?? [];
    if (whole === undefined || key === undefined || written === undefined) return undefined;
    if (!ENVOY_KEYS.includes(key.toLowerCase())) return undefined;
    // The outer layer of escapes only: those of the name itself are the name's.
    pairs.push([key, written.startsWith('"') ? written.slice(1, -1).replaceAll(/\\(["\\])/g, '$1') : written]);
    rest = rest.slice(whole.length);
  }
  return pairs;
}
