import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { checkDigitOf } from '../../../src/identifiers/check-digit.js';
import { IdentifierError } from '../../../src/identifiers/identifier-error.js';
import { parseIdentifier, type IdentifierRules } from '../../../src/identifiers/parse-identifier.js';

const UNVERIFIED: IdentifierRules = { prefixC: true, verifyCheckDigit: false };
const WITH_C: IdentifierRules = { prefixC: true, verifyCheckDigit: true };

const space = fc.constantFrom(' ', '\u00a0', '\t');
const dash = fc.constantFrom('-', '\u2013');
const spaces = fc.array(space, { maxLength: 2 }).map((list) => list.join(''));
const joint = fc.oneof(
  spaces,
  fc.tuple(spaces, dash, spaces).map((list) => list.join('')),
);
const anyCase = (text: string) => fc.constantFrom(text, text.toLowerCase());
const label = fc
  .tuple(fc.constantFrom('RIF', 'C.I.', 'CI').chain(anyCase), fc.constantFrom('', ':', ' :'), joint)
  .map((list) => list.join(''));
const letter = fc.constantFrom('V', 'E', 'J', 'G', 'P', 'C');
const number = fc.integer({ min: 1, max: 99_999_999 });

/** One mark for the whole number; two characters that count as the same mark may be mixed. */
const marks = fc.constantFrom(fc.constant('.'), fc.constant(','), space, dash);

function grouped(digits: string): fc.Arbitrary<string> {
  const head = digits.length % 3 || 3;
  const groups = [digits.slice(0, head)];
  for (let at = head; at < digits.length; at += 3) groups.push(digits.slice(at, at + 3));
  return marks
    .chain((mark) => fc.array(mark, { minLength: groups.length, maxLength: groups.length }))
    .map((list) => groups.map((group, index) => (index === 0 ? group : `${list[index]}${group}`)).join(''));
}

/** The number with 0 or more zeros in front, up to 8 digits, bare or in groups. */
const numberText = (value: number) =>
  fc
    .integer({ min: String(value).length, max: 8 })
    .map((length) => String(value).padStart(length, '0'))
    .chain((digits) => fc.oneof(fc.constant(digits), grouped(digits)));

const checkText = (digit: string) => fc.tuple(spaces, dash, spaces).map((list) => `${list.join('')}${digit}`);

const spelling = fc.record({ letter, number }).chain(({ letter, number }) => {
  const padded = String(number).padStart(8, '0');
  const digit = checkDigitOf(letter, padded);
  const head = fc.tuple(fc.oneof(fc.constant(''), label), anyCase(letter), joint).map((list) => list.join(''));
  const tail = fc.oneof(
    numberText(number),
    fc.tuple(numberText(number), checkText(digit)).map((list) => list.join('')),
    fc.constant(`${padded}${digit}`),
  );
  return fc.tuple(spaces, head, tail, spaces).map((list) => ({ text: list.join(''), short: `${letter}${padded}` }));
});

describe('for every identifier', () => {
  it('every spelling is read as its canonical form', () => {
    fc.assert(
      fc.property(spelling, ({ text, short }) => {
        const identifier = parseIdentifier(text, WITH_C);
        expect(identifier.short).toBe(short);
        expect(identifier.letterAssumed).toBe(false);
      }),
      { numRuns: 3_000 },
    );
  });

  it('without a letter it is V, and said to be assumed', () => {
    fc.assert(
      fc.property(
        number.chain((value) => fc.tuple(fc.constant(value), numberText(value))),
        ([value, text]) => {
          const { short, letterAssumed } = parseIdentifier(text);
          expect([short, letterAssumed]).toEqual([`V${String(value).padStart(8, '0')}`, true]);
        },
      ),
    );
  });

  it('its own written forms are read back as itself', () => {
    fc.assert(
      fc.property(spelling, fc.boolean(), ({ text }, verifyCheckDigit) => {
        const identifier = parseIdentifier(text, WITH_C);
        const again = parseIdentifier(identifier.checkDigit === null ? identifier.short : identifier.rif, {
          prefixC: true,
          verifyCheckDigit,
        });
        expect(again).toEqual(identifier);
      }),
    );
  });

  it('each of the nine wrong check digits is refused, in each form', () => {
    const form = fc.constantFrom(
      (padded: string, digit: number) => `${padded}-${digit}`,
      (padded: string, digit: number) => `${padded}${digit}`,
      (padded: string, digit: number) => `${Number(padded)}-${digit}`,
    );
    fc.assert(
      fc.property(letter, number, form, (letter, value, form) => {
        const padded = String(value).padStart(8, '0');
        const right = Number(checkDigitOf(letter, padded));
        for (let digit = 0; digit <= 9; digit += 1) {
          const text = `${letter}${form(padded, digit)}`;
          if (digit === right) expect(parseIdentifier(text, WITH_C).short).toBe(`${letter}${padded}`);
          else
            expect(() => parseIdentifier(text, WITH_C)).toThrow(
              expect.objectContaining({ code: 'invalid_check_digit' }),
            );
        }
      }),
    );
  });

  it('the dash of a short RIF decides, whatever the digit and whoever verifies', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9_999_999 }),
        fc.integer({ min: 0, max: 9 }),
        dash,
        (value, digit, dash) => {
          const { number, checkDigit } = parseIdentifier(`V-${value}${dash}${digit}`, UNVERIFIED);
          expect([Number(number), checkDigit]).toEqual([value, String(digit)]);
        },
      ),
    );
  });
});

describe('for every text', () => {
  const texts = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.string({ unit: fc.constantFrom(...'VEJGPCIRFvci0123456789.,- :\t\u00a0\u2013²１'), maxLength: 24 }),
    fc.anything(),
  );

  it('the answer is a canonical identifier or an IdentifierError without the text, never another error', () => {
    fc.assert(
      fc.property(texts, fc.boolean(), fc.boolean(), (input, prefixC, verifyCheckDigit) => {
        try {
          const identifier = parseIdentifier(input, { prefixC, verifyCheckDigit });
          expect(identifier.short).toMatch(prefixC ? /^[VEJGPC][0-9]{8}$/ : /^[VEJGP][0-9]{8}$/);
          expect(identifier.number).not.toBe('00000000');
          expect(identifier.checkDigit ?? '0').toMatch(/^[0-9]$/);
          if (verifyCheckDigit) expect(identifier.checkDigitValid).not.toBe(false);
        } catch (error) {
          expect(error).toBeInstanceOf(IdentifierError);
          expect((error as IdentifierError).message).not.toMatch(/[0-9]/);
        }
      }),
      { numRuns: 5_000 },
    );
  });

  it('a text that is accepted has no digit that is not in the answer, and none of the answer is made up', () => {
    fc.assert(
      fc.property(texts, (input) => {
        let identifier;
        try {
          identifier = parseIdentifier(input, UNVERIFIED);
        } catch {
          return;
        }
        const said = String(input)
          .replace(/[^0-9]/g, '')
          .replace(/^0+/, '');
        expect(`${identifier.number}${identifier.checkDigit ?? ''}`.replace(/^0+/, '')).toBe(said);
      }),
      { numRuns: 5_000 },
    );
  });

  it('the work grows no faster than the text: a megabyte of anything is refused within a second', () => {
    for (const unit of ['1', '1.', '111.', ' ', '\u00a0-', 'V', 'RIF:', 'C.I.', '1-234', '²']) {
      const text = `V${unit.repeat(1_000_000 / unit.length)}x`;
      const started = performance.now();
      expect(() => parseIdentifier(text)).toThrow(IdentifierError);
      expect(performance.now() - started).toBeLessThan(1_000);
    }
  });
});
