/**
 * JSON whose numbers reach the model exactly: a number whose value a double cannot hold becomes its source text
 * (architecture §5). "Hold" means: written out again, the double is the same decimal. `12345678901234567890` is a string
 * afterwards; `0.1` and `1500000.50` are still numbers.
 */

/**
 * Every decimal of at most 15 digits survives a double (IEEE 754: DBL_DIG = 15), so a text without a longer run and
 * without an exponent needs no second look. Digits inside strings only cost the slower path.
 */
const MAY_LOSE = /[\d.]{16}|\d[eE]/;

/** The reviver's third parameter (ES2025, in Node since 21), which TypeScript's ES2023 library does not know. */
interface ReviverContext {
  readonly source?: string;
}

type Reviver = (this: unknown, key: string, value: unknown, context: ReviverContext) => unknown;
const parseWith = JSON.parse as (text: string, reviver: Reviver) => unknown;

/** Throws SyntaxError for what is not JSON, RangeError for nesting deeper than the stack. */
export function parseLossless(text: string): unknown {
  if (!MAY_LOSE.test(text)) return JSON.parse(text) as unknown;
  return parseWith(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && !holds(value, source) ? source : value,
  );
}

function holds(value: number, source: string): boolean {
  return Number.isFinite(value) && canonical(String(value)) === canonical(source);
}

const DECIMAL = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Significant digits and power of ten: equal for equal magnitudes, however they are written. The sign never gets lost. */
function canonical(decimal: string): string {
  const [, whole = '', fraction = '', exponent = '0'] = DECIMAL.exec(decimal) ?? [];
  const digits = withoutLeadingZeros(whole + fraction);
  const significant = withoutTrailingZeros(digits);
  if (significant === '') return '0';
  const power = Number(exponent) - fraction.length + digits.length - significant.length;
  return `${significant}e${power}`;
}

/** Loops, not regular expressions: `/0+$/` takes quadratic time on a megabyte of zeros before a one. */
function withoutTrailingZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits.charCodeAt(end - 1) === 48) end -= 1;
  return digits.slice(0, end);
}

function withoutLeadingZeros(digits: string): string {
  let start = 0;
  while (start < digits.length && digits.charCodeAt(start) === 48) start += 1;
  return digits.slice(start);
}
