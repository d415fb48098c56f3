/**
 * The written forms of a cédula or RIF. One pass over the text, no backtracking; the text is already trimmed.
 *
 *   text   = [ label joint ] [ letter joint ] number [ check ]
 *   label  = "RIF" | "C.I." | "CI", any case, then perhaps a colon
 *   letter = one of A–Z, any case
 *   number = digits, bare | 1–3 digits and then groups of exactly 3, all parted by the same single mark: . , space dash
 *   check  = dash and exactly one digit, at the end; spaces may stand around the dash
 *   joint  = nothing, spaces, or one dash; spaces may stand around the dash
 *
 * NBSP and tab are spaces, the en dash is a dash. How many digits a number may have is judged by the parser.
 *
 * Where a dash could be read in two ways the count of digits after it decides: exactly three are a group, exactly one at
 * the end is the check digit, anything else is an error. So `1-234-567` is the number 1234567, `6-543-210-9` is 6543210
 * with check digit 9, `1234567-3` is 1234567 with check digit 3, and `12-34-56-78-9` is nothing. The mark may not change
 * inside a number, and a check digit is never parted by anything but a dash.
 */
export interface WrittenForm {
  /** Upper case; null when the text has none. */
  readonly letter: string | null;
  /** ASCII digits of the number without its marks; at least one. */
  readonly digits: string;
  /** No marks between the digits. */
  readonly bare: boolean;
  /** The digit after the last dash. */
  readonly checkDigit: string | null;
}

const SPACE = 0x20;
const DASH = 0x2d;
const DOT = 0x2e;
const COMMA = 0x2c;
const COLON = 0x3a;

/** Null when the text is none of the written forms. */
export function readWrittenForm(text: string): WrittenForm | null {
  let at = afterLabel(text);
  const code = letterCode(text.charCodeAt(at));
  const letter = code === 0 ? null : String.fromCharCode(code);
  if (letter !== null) at = afterJoint(text, at + 1);

  let end = afterDigits(text, at);
  let digits = text.slice(at, end);
  if (digits === '') return null;
  let bare = true;
  const mark = markCode(text.charCodeAt(end));
  if (mark !== 0 && digits.length <= 3) {
    while (markCode(text.charCodeAt(end)) === mark && afterDigits(text, end + 1) === end + 4) {
      digits += text.slice(end + 1, end + 4);
      end += 4;
      bare = false;
    }
  }
  if (end === text.length) return { letter, digits, bare, checkDigit: null };

  const dash = afterSpaces(text, end);
  if (markCode(text.charCodeAt(dash)) !== DASH) return null;
  const last = afterSpaces(text, dash + 1);
  if (last + 1 !== text.length || afterDigits(text, last) !== text.length) return null;
  return { letter, digits, bare, checkDigit: text.slice(last) };
}

/** Past the label and what joins it to the rest. A letter `C` or `R` is never followed by `I`, so this is no guess. */
function afterLabel(text: string): number {
  const length = labelLength(text);
  if (length === 0) return 0;
  const colon = afterSpaces(text, length);
  return afterJoint(text, text.charCodeAt(colon) === COLON ? colon + 1 : length);
}

function labelLength(text: string): number {
  if (startsWith(text, 'RIF')) return 3;
  if (startsWith(text, 'C.I.')) return 4;
  return startsWith(text, 'CI') ? 2 : 0;
}

/** Not `toUpperCase`: it makes an `I` of the dotless ı and two letters of a ligature. */
function startsWith(text: string, label: string): boolean {
  for (let at = 0; at < label.length; at += 1) {
    const code = text.charCodeAt(at);
    if ((letterCode(code) || code) !== label.charCodeAt(at)) return false;
  }
  return true;
}

function afterJoint(text: string, from: number): number {
  const at = afterSpaces(text, from);
  return markCode(text.charCodeAt(at)) === DASH ? afterSpaces(text, at + 1) : at;
}

function afterSpaces(text: string, from: number): number {
  let at = from;
  while (markCode(text.charCodeAt(at)) === SPACE) at += 1;
  return at;
}

/** Only ASCII: `\d` with the flag `u` and its relatives know hundreds of other digits (defect D3). */
function afterDigits(text: string, from: number): number {
  let at = from;
  for (let code = text.charCodeAt(at); code >= 0x30 && code <= 0x39; code = text.charCodeAt(at)) at += 1;
  return at;
}

/** The mark that the character counts as; 0 when it is none (also past the end, where the code is NaN). */
function markCode(code: number): number {
  switch (code) {
    case SPACE:
    case 0x09:
    case 0xa0:
      return SPACE;
    case DASH:
    case 0x2013:
      return DASH;
    case DOT:
    case COMMA:
      return code;
    default:
      return 0;
  }
}

/** Code of the upper-case letter; 0 when it is not one of A–Z. */
function letterCode(code: number): number {
  if (code >= 0x61 && code <= 0x7a) return code - 0x20;
  return code >= 0x41 && code <= 0x5a ? code : 0;
}
