import { IsArray, IsBoolean, IsInt, IsNumber } from 'class-validator';
import { ReadAs, type Reading } from './setting.js';

/**
 * Explicit, one per type. Never class-transformer's implicit conversion: it turns the text "false" into true.
 * What the reference accepts (spec §1): booleans in six spellings of any case, integers as `8000`, ` 8000 `, `8000.0`.
 */
const WORDS = new Map<string, boolean>([
  ...['true', '1', 'yes', 'on', 't', 'y'].map((word) => [word, true] as const),
  ...['false', '0', 'no', 'off', 'f', 'n'].map((word) => [word, false] as const),
]);

const boolean: Reading = {
  type: 'boolean',
  expected: 'true or false (also 1/0, yes/no, on/off, t/f, y/n)',
  read: (text) => WORDS.get(text.trim().toLowerCase()),
};

const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

const number: Reading = {
  type: 'number',
  expected: 'a number',
  read(text) {
    const value = DECIMAL.test(text.trim()) ? Number(text) : Number.NaN;
    return Number.isFinite(value) ? value : undefined;
  },
};

const INTEGER = /^[+-]?\d+(?:\.0*)?$/;

const integer: Reading = {
  type: 'integer',
  expected: 'a whole number',
  read(text) {
    const value = INTEGER.test(text.trim()) ? Number(text) : Number.NaN;
    return Number.isSafeInteger(value) ? value : undefined;
  },
};

const list: Reading = {
  type: 'list',
  expected: 'a comma-separated list',
  read(text) {
    const items = text.split(',').map((item) => item.trim());
    const named = items.filter((item) => item !== '');
    return named.length > 0 ? named : undefined;
  },
};

const upperCase: Reading = { type: 'text', expected: 'text', read: (text) => text.trim().toUpperCase() };

const together =
  (...decorators: PropertyDecorator[]): PropertyDecorator =>
  (prototype, property) =>
    decorators.forEach((decorate) => decorate(prototype, property));

export const ToBoolean = () => together(ReadAs(boolean), IsBoolean());
export const ToNumber = () => together(ReadAs(number), IsNumber({ allowNaN: false, allowInfinity: false }));
export const ToInteger = () => together(ReadAs(integer), IsInt());
/** Comma-separated; items are trimmed and empty ones dropped. Bounds on items: class-validator's `{ each: true }`. */
export const ToList = () => together(ReadAs(list), IsArray());
/** For names that are accepted in any case. */
export const ToUpperCase = () => ReadAs(upperCase);
