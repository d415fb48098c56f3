/**
 * The last layer: code does not log identifiers, hosts or secrets in the first place. Texts that are not ours (an error's
 * message, a library's warning) lose everything that could be a value; our own fields lose what is recognisable.
 */

const MAX_FOREIGN_TEXT = 500;

/** `data:` URIs name resources of the catalogue, nobody's host. */
const URL_LIKE = /\b(?!data:)[a-z][a-z0-9+.-]*:\/\/[^\s<>]+/gi;
const EMAIL = /[^\s@<>()[\],;:]+@[^\s@<>()[\],;:]+/g;
const QUOTE = /["`«»“”„‘]|(?<!\p{L})['’]|['’](?!\p{L})/gu;

const FOREIGN: readonly (readonly [RegExp, string])[] = [
  [URL_LIKE, '[url]'],
  [EMAIL, '[email]'],
  // PostgreSQL: Key (cedula)=(V16760320); libpq: host=db user=app.
  [/=\s*(?:\([^)]*\)?|\S+)/g, '=[value]'],
  [/\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EPIPE)\s+\S+/g, '$1 [host]'],
  [/\b(user|role|usuario|host|hostname|server|database)\s*:?\s+(?!name\b)[^\s[]\S*/gi, '$1 [value]'],
  [/\b(DNS|password):\s*\S+/gi, '$1:[value]'],
  [/(?<![\w\]])[~.]{0,2}(?:\/[^\s/:,;()[\]{}]+)+\/?/g, '[path]'],
  [/\[?(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}\]?(?:%\w+)?/gi, '[host]'],
  [/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b/g, '[host]'],
  [/\b(?:[\p{L}\d_-]+\.)+\p{L}{2,}(?::\d+)?/gu, '[host]'],
  [/\b(?:localhost|[\w-]+(?=:\d{2,5}\b))(?::\d+)?/gi, '[host]'],
  // Four digits or more, however they are grouped, with the letter of an identifier.
  [/(?:\b\p{L}[-.\s]?)?\p{Nd}(?:[\s.,\u2010-\u2015-]?\p{Nd}){3,}/gu, '[digits]'],
];

/** A text from outside our code, in one line of at most some hundred characters, without anything that may be a value. */
export function redactText(text: string): string {
  const cut = text.length > MAX_FOREIGN_TEXT;
  let redacted = withoutQuotation(cut ? text.slice(0, MAX_FOREIGN_TEXT) : text, cut);
  for (const [pattern, replacement] of FOREIGN) redacted = redacted.replace(pattern, replacement);
  return redacted.replace(/\s+/g, ' ').trim();
}

/**
 * From the first quotation mark to the last, or to the end where the closing one is missing: a quoted value may hold
 * quotation marks itself, and taking marks in pairs would show what stands between two of them.
 */
function withoutQuotation(text: string, cut: boolean): string {
  const marks = [...text.matchAll(QUOTE)].map(({ index }) => index);
  const [first] = marks;
  if (first === undefined) return text;
  const last = cut || marks.length === 1 ? text.length : (marks.at(-1) ?? first);
  return `${text.slice(0, first)}[value]${text.slice(last + 1)}`;
}

/** An identifier in our own fields: capitals only, so that no pseudonym (lower-case hex) is ever taken for one. */
const IDENTIFIER = /(?<![A-Za-z0-9])[VEJGPC][-. ]?\d(?:[. -]?\d){4,9}(?![A-Za-z0-9])/g;
const WORTH_A_LOOK = /:\/\/[^\s<>]|[^\s@]@[^\s@]|[VEJGPC][-. ]?\d[\d. -]{4}/;

/** The text of one of our fields. What looks like `scheme://<user>…` is a placeholder of our own and stays. */
export function redactField(text: string): string {
  if (!WORTH_A_LOOK.test(text)) return text;
  return text.replace(URL_LIKE, '[url]').replace(EMAIL, '[email]').replace(IDENTIFIER, '[identifier]');
}

const SECRET_NAME =
  /secret|passw|pwd|token$|authorization|credential|cookie|api_?-?key|private_?-?key|(?:^|_)dsn$|connection_?string/i;
const PERSONAL_NAMES = new Set([
  'cedula',
  'cédula',
  'rif',
  'identificador',
  'nombre',
  'email',
  'correo',
  'saldo',
  'balance',
]);

const MAX_REMEMBERED = 1000;
const remembered = new Map<string, boolean>();

/** Whether a field of that name never shows its value. */
export function isHiddenName(name: string): boolean {
  let hidden = remembered.get(name);
  if (hidden === undefined) {
    hidden = PERSONAL_NAMES.has(name.toLowerCase()) || SECRET_NAME.test(name);
    if (remembered.size < MAX_REMEMBERED) remembered.set(name, hidden);
  }
  return hidden;
}
