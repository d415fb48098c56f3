import { describe, expect, it } from '@jest/globals';
import { checkDigitOf } from '../../../src/identifiers/check-digit.js';

/** Spec §6.3, computed with the reference's own code. */
const COMPUTED: readonly (readonly [number: string, digits: string])[] = [
  // digits in the order V E J P G C
  ['16760320', '062952'],
  ['13222105', '306296'],
  ['12345678', '184074'],
  ['00000000', '730620'],
  ['99999999', '518408'],
  ['20000001', '062952'],
  ['16760321', '840730'],
  ['16760322', '629519'],
  ['90000001', '073063'],
];

describe('the check digit', () => {
  it.each(COMPUTED)('of %s is right for every letter', (number, digits) => {
    expect([...'VEJPGC'].map((letter) => checkDigitOf(letter, number)).join('')).toBe(digits);
  });

  it.each(['V12345673', 'E12345671', 'J12345683', 'P12345678', 'G12345676'])(
    'is 0 for the remainder 0: %s',
    (short) => {
      expect(checkDigitOf(short.slice(0, 1), short.slice(1))).toBe('0');
    },
  );

  it.each(['V12345679', 'E12345677', 'J12345675', 'P12345673', 'G12345671'])(
    'is 0 for the remainder 1: %s',
    (short) => {
      expect(checkDigitOf(short.slice(0, 1), short.slice(1))).toBe('0');
    },
  );

  it('has no formula for other letters, not even for names that every object has', () => {
    expect(() => checkDigitOf('Z', '16760320')).toThrow("no hay fórmula de dígito verificador para el prefijo 'Z'");
    expect(() => checkDigitOf('constructor', '16760320')).toThrow('no hay fórmula');
  });

  it.each(['1676032', '167603200', '', '1676032٠', '²²²²²²²²'])(
    'refuses a number that is not eight ASCII digits: %j',
    (number) => {
      expect(() => checkDigitOf('V', number)).toThrow('numero debe ser una cadena de exactamente 8 dígitos');
    },
  );
});
