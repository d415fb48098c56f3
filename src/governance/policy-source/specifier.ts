import { mayBeAsked } from '../outbound/bounded-request.js';

/** Where a policy is, as an operator writes it. */
export type PolicySpecifier =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'https'; readonly url: string }
  | { readonly kind: 'git'; readonly url: string; readonly ref: string; readonly path: string };

/** The bytes of a policy, not looked at yet. */
export interface PolicyText {
  readonly text: string;
  /** Of its source (a commit); absent: its own hash is. */
  readonly version?: string;
}

/** It is written in a way that nothing can be read by. The message continues the name of whatever held it. */
export class PolicyFormError extends Error {
  override readonly name = 'PolicyFormError';
}

const HTTPS_FORM = 'must be https:// (http:// on loopback only), without user and password';
const GIT_FORM =
  'must have the form git+<url>#<ref>:<path>, its url https://, ssh://, file:// or an absolute path, without a password';

/** Nothing that git would take for an option, a range, or another repository's name. */
const REF = /^[A-Za-z0-9_][A-Za-z0-9._/@-]{0,254}$/;

/** `git+…`, `https://…`, or else a file. Throws a PolicyFormError. */
export function specifierOf(text: string): PolicySpecifier {
  if (text.startsWith('git+')) return gitSpecifier(text.slice('git+'.length));
  if (!/^https?:\/\//i.test(text)) return { kind: 'file', path: text };
  const url = URL.parse(text);
  if (url === null || !mayBeAsked(url)) throw new PolicyFormError(HTTPS_FORM);
  return { kind: 'https', url: url.href };
}

/** What is wrong with the form; undefined when nothing is. */
export function problemOfSpecifier(text: string): string | undefined {
  try {
    specifierOf(text);
    return undefined;
  } catch (error) {
    if (error instanceof PolicyFormError) return error.message;
    throw error;
  }
}

function gitSpecifier(text: string): PolicySpecifier {
  const [, url = '', ref = '', path = ''] = /^([^#]+)#([^:]+):(.+)$/su.exec(text) ?? [];
  if (!isRepository(url) || !isRef(ref) || !isPath(path)) throw new PolicyFormError(GIT_FORM);
  return { kind: 'git', url, ref, path };
}

/** No `ext::` or `fd::`, which run programs; no password, which every process of the machine could read. */
function isRepository(text: string): boolean {
  if (/[\p{Cc}\s]/u.test(text)) return false;
  if (text.startsWith('/')) return true;
  const url = URL.parse(text);
  if (url === null || url.password !== '') return false;
  if (url.protocol === 'ssh:') return url.hostname !== '' && !/^-|^ssh:\/\/[^/]*@?-/.test(text);
  if (url.protocol === 'file:') return url.hostname === '';
  return mayBeAsked(url);
}

const isRef = (ref: string): boolean => REF.test(ref) && !ref.includes('..') && !ref.endsWith('.lock');

const isPath = (path: string): boolean =>
  !/\p{Cc}/u.test(path) && path.length <= 1024 && path.split('/').every((part) => !['', '.', '..'].includes(part));
