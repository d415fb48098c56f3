import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseLossless } from '../../../src/connectors/lossless-json.js';

/** `1.25e+3` → 1250n, without going through a double. */
function wholeNumber(decimal: string): bigint {
  const [mantissa = '', exponent = '0'] = decimal.split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return BigInt(whole + fraction) * 10n ** BigInt(Number(exponent) - fraction.length);
}

describe('parseLossless', () => {
  it('reads what a double holds as a number, however it is written', () => {
    const text = '[1500000.50, 320000.0, 1e3, 0.1, -0.10e1, 9007199254740993.0e0, 0e99999, 100000000000000000000]';
    expect(parseLossless(text)).toEqual([1500000.5, 320000, 1000, 0.1, -1, '9007199254740993.0e0', 0, 1e20]);
  });

  it('keeps the source text of a number that a double cannot hold', () => {
    const texts = ['9007199254740993', '12345678901234567890', '0.1000000000000000055', '1e400', '-1e400', '1e-400'];
    expect(parseLossless(`[${texts.join(',')}]`)).toEqual(texts);
  });

  it('leaves digits inside strings and keys alone', () => {
    expect(parseLossless('{"12345678901234567890":"12345678901234567890"}')).toEqual({
      '12345678901234567890': '12345678901234567890',
    });
  });

  it('reads every finite double back as the same number', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(parseLossless(`{"n":${String(value)}}`)).toEqual({ n: JSON.parse(String(value)) as number });
      }),
    );
  });

  it('never changes the value of a whole number', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), (value) => {
        const parsed = parseLossless(`[${value}]`) as [number | string];
        expect(wholeNumber(String(parsed[0]))).toBe(value);
        // A text only where it is needed: the double, written out again, would be another number.
        if (typeof parsed[0] === 'string') expect(wholeNumber(String(Number(value)))).not.toBe(value);
      }),
    );
  });

  it('agrees with JSON.parse on everything without such numbers', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        expect(parseLossless(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('takes linear time on a megabyte of zeros', () => {
    const zeros = '0'.repeat(1_000_000);
    expect(parseLossless(`[1${zeros}, 0.${zeros}1, 1e${zeros}]`)).toEqual([`1${zeros}`, `0.${zeros}1`, 1]);
  });

  it('throws a SyntaxError for what is not JSON', () => {
    for (const text of ['', '{', '[1,]', 'NaN', "{'a':1}"]) expect(() => parseLossless(text)).toThrow(SyntaxError);
  });
});
