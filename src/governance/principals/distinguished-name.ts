/** UTF-16 units of a name, and of what a proxy may say about a certificate. */
export const LONGEST_NAME = 2_048;

/** One component: its type in upper case, and its value. */
export type Component = readonly [type: string, value: string];

const TYPE = /^\s*([A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)*)\s*=\s*/;

/**
 * The text form of a distinguished name (RFC 4514; of RFC 2253 also quoted values). Undefined when it is not wholly of that
 * form, so that nobody is named by half of what was meant. Values in hexadecimal (`#…`) have no text: they are left out.
 */
export function componentsOf(name: string): readonly Component[] | undefined {
  if (name === '' || name.length > LONGEST_NAME || hasControlCharacters(name)) return undefined;
  const components: Component[] = [];
  let rest = name;
  for (;;) {
    const [opening, type] = TYPE.exec(rest) ?? [];
    if (opening === undefined || type === undefined) return undefined;
    const value = valueAt(rest.slice(opening.length));
    if (value === undefined) return undefined;
    if (value.text !== undefined) components.push([type.toUpperCase(), value.text]);
    if (value.rest === '') return components;
    rest = value.rest.slice(1);
  }
}

interface Value {
  readonly text: string | undefined;
  /** What follows, its separator included. */
  readonly rest: string;
}

const QUOTED = /^"((?:[^"\\]|\\.)*)"\s*(?=[,+]|$)/su;
const PLAIN = /^((?:[^",;+\\<>]|\\.)*)(?=[,+]|$)/su;

function valueAt(text: string): Value | undefined {
  const match = QUOTED.exec(text) ?? PLAIN.exec(text);
  if (match === null) return undefined;
  const [whole, written = ''] = match;
  const rest = text.slice(whole.length);
  if (whole.startsWith('#')) return { text: undefined, rest };
  const value = unescaped(whole.startsWith('"') ? written : trimmed(written));
  return value === undefined || hasControlCharacters(value) ? undefined : { text: value, rest };
}

/** A space that was escaped stays. */
const trimmed = (written: string): string => written.replace(/^ +/, '').replace(/(?<=(?:^|[^\\])(?:\\\\)*) +$/, '');

/** Pairs of hexadecimal digits are bytes of UTF-8; every other escaped character stands for itself. */
function unescaped(written: string): string | undefined {
  const bytes = [...written.matchAll(/\\([0-9A-Fa-f]{2})|\\(.)|([^\\]+)/gsu)].map(([, hex, character, plain]) =>
    hex === undefined ? Buffer.from(character ?? plain ?? '') : Buffer.from(hex, 'hex'),
  );
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(bytes));
  } catch {
    return undefined;
  }
}

const hasControlCharacters = (text: string): boolean => /[\u0000-\u001f\u007f-\u009f]/.test(text);
