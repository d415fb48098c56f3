import { describe, expect, it } from '@jest/globals';
import { IdentifierError } from '../../../src/identifiers/identifier-error.js';
import type { Identifier } from '../../../src/identifiers/identifier.js';
import { parseIdentifier, type IdentifierRules } from '../../../src/identifiers/parse-identifier.js';

const UNVERIFIED: IdentifierRules = { prefixC: false, verifyCheckDigit: false };
const WITH_C: IdentifierRules = { prefixC: true, verifyCheckDigit: true };
const EMPTY = 'identificador vacío o de tipo inválido';
const FORM = 'formato de identificador no reconocido';
const RANGE = 'cantidad de dígitos fuera de rango';

const written = ({ letter, number, checkDigit }: Identifier) => [letter, number, checkDigit].join('/');

function refusal(input: unknown, rules?: IdentifierRules): string {
  try {
    return `accepted as ${written(parseIdentifier(input, rules))}`;
  } catch (error) {
    if (error instanceof IdentifierError) return `${error.code}: ${error.message}`;
    throw error;
  }
}

describe('a cédula', () => {
  it.each(['16760320', '16.760.320', 'V16760320', 'V-16760320', 'V-16.760.320', 'v16760320', 'v-16.760.320'])(
    '%s is V 16760320 without a check digit',
    (text) => {
      const identifier = parseIdentifier(text);
      expect(written(identifier)).toBe('V/16760320/');
      expect(identifier.short).toBe('V16760320');
      expect(identifier.checkDigit).toBeNull();
      expect(identifier.checkDigitValid).toBeNull();
      expect(() => identifier.rif).toThrow('el identificador no trae dígito verificador');
    },
  );

  it.each([
    ['123456', '00123456'],
    ['1234567', '01234567'],
    ['1', '00000001'],
    ['V123456', '00123456'],
    ['00000001', '00000001'],
    ['0123456', '00123456'],
    ['01.234.567', '01234567'],
  ])('%s is padded to %s', (text, number) => {
    expect(parseIdentifier(text).number).toBe(number);
  });

  it('says whether the letter was said or assumed', () => {
    expect(parseIdentifier('16760320').letterAssumed).toBe(true);
    expect(parseIdentifier('C.I.: 16.760.320').letterAssumed).toBe(true);
    expect(parseIdentifier('v-16760320').letterAssumed).toBe(false);
    expect(parseIdentifier('RIF V-16760320-0').letterAssumed).toBe(false);
  });
});

describe('a RIF', () => {
  it.each(['J-167603200', 'J16.760.320-0', 'J-16760320-0', 'j167603200'])(
    '%s normalises to J 16760320 with check digit 0, which is the wrong one',
    (text) => {
      expect(refusal(text)).toBe('invalid_check_digit: dígito verificador inválido');
      const unverified = parseIdentifier(text, UNVERIFIED);
      expect(written(unverified)).toBe('J/16760320/0');
      expect(unverified.rif).toBe('J-16760320-0');
      expect(unverified.checkDigitValid).toBe(false);
    },
  );

  it('carries its check digit and its full form', () => {
    const identifier = parseIdentifier('V-13222105-3');
    expect(written(identifier)).toBe('V/13222105/3');
    expect(identifier.rif).toBe('V-13222105-3');
    expect(identifier.checkDigitValid).toBe(true);
  });

  it.each(['V-13222105-9', 'V-16760320-9', 'J-16760320-0'])('%s is refused for its check digit', (text) => {
    expect(refusal(text)).toBe('invalid_check_digit: dígito verificador inválido');
  });

  it('of a person has the number and the short form of the cédula', () => {
    const rif = parseIdentifier('V-16760320-0');
    expect([rif.number, rif.short]).toEqual(['16760320', parseIdentifier('16760320').short]);
  });
});

describe('the letter', () => {
  it.each(['E', 'G', 'J', 'P', 'V'])('%s is accepted', (letter) => {
    expect(parseIdentifier(`${letter}16760320`).short).toBe(`${letter}16760320`);
  });

  it.each(['I', 'A', 'B', 'F', 'H', 'Z', 'C', 'R'])('%s is refused', (letter) => {
    const expected = `invalid_identifier: prefijo '${letter}' no es un prefijo fiscal válido`;
    expect(refusal(`${letter}16760320`)).toBe(expected);
    expect(refusal(`${letter.toLowerCase()}-16.760.320`)).toBe(expected);
  });

  it('C is accepted by configuration only, and I never', () => {
    expect(parseIdentifier('C16760320', WITH_C).short).toBe('C16760320');
    expect(parseIdentifier('CI C-16760320-2', WITH_C).rif).toBe('C-16760320-2');
    expect(refusal('I16760320', WITH_C)).toContain("prefijo 'I'");
  });

  it.each(['Zabc', 'Z0', 'Z16760320-', 'Z-1-2-3'])('is not looked at when the form is wrong: %s', (text) => {
    expect(refusal(text)).toBe(`invalid_identifier: ${FORM}`);
  });

  it('is judged before the check digit', () => {
    expect(refusal('Z-16760320-1')).toContain("prefijo 'Z'");
  });
});

describe('labels and marks', () => {
  it.each([
    ['RIF J-16760320-2', 'J/16760320/2'],
    ['RIF: J-16760320-2', 'J/16760320/2'],
    ['rif:j-16.760.320-2', 'J/16760320/2'],
    ['Rif : J 16 760 320 - 2', 'J/16760320/2'],
    ['RIFJ167603202', 'J/16760320/2'],
    ['RIF-J-16760320-2', 'J/16760320/2'],
    ['RIF 167603200', 'V/16760320/0'],
    ['C.I. V-16.760.320', 'V/16760320/'],
    ['C.I.: 16.760.320', 'V/16760320/'],
    ['c.i.16760320', 'V/16760320/'],
    ['CI16760320', 'V/16760320/'],
    ['CI: E-16760320', 'E/16760320/'],
    ['ci-v-16760320', 'V/16760320/'],
    ['V 16 760 320', 'V/16760320/'],
    ['  V 16 760 320  ', 'V/16760320/'],
    ['V - 16760320 - 0', 'V/16760320/0'],
    ['V-16,760,320', 'V/16760320/'],
    ['V-16-760-320', 'V/16760320/'],
    ['V-16-760-320-0', 'V/16760320/0'],
    ['\tV16760320\n', 'V/16760320/'],
    ['V\u00a016\u00a0760\u00a0320', 'V/16760320/'],
    ['V\t16\u00a0760 320', 'V/16760320/'],
    ['J\u201316760320\u20132', 'J/16760320/2'],
    ['J\u201316\u2013760-320\u20132', 'J/16760320/2'],
  ])('%j is read as %s', (text, expected) => {
    expect(written(parseIdentifier(text))).toBe(expected);
  });
});

describe('a dash decides by the count of digits after it', () => {
  it.each([
    // One digit at the end: the check digit, also of a short number (defect D1).
    ['V-6543210-9', 'V/06543210/9'],
    ['V-6.543.210-9', 'V/06543210/9'],
    ['V-6-543-210-9', 'V/06543210/9'],
    ['J-1234567-3', 'J/01234567/3'],
    ['J-1-234-567-3', 'J/01234567/3'],
    ['V01234567-8', 'V/01234567/8'],
    ['1-9', 'V/00000001/9'],
    ['123-4', 'V/00000123/4'],
    ['123-456-7', 'V/00123456/7'],
    // Three digits: a group.
    ['1-234-567', 'V/01234567/'],
    ['123-456', 'V/00123456/'],
    ['1-234', 'V/00001234/'],
  ])('%s is read as %s', (text, expected) => {
    expect(written(parseIdentifier(text, UNVERIFIED))).toBe(expected);
  });

  it('and the digit is then judged as that of the short number, never as a part of an eight-digit one', () => {
    expect(parseIdentifier('V-6543210-9').short).toBe('V06543210');
    expect(parseIdentifier('J-1234567-3').short).toBe('J01234567');
    expect(refusal('V-6543210-4')).toContain('invalid_check_digit');
    expect(refusal('J-1234567-8')).toContain('invalid_check_digit');
  });

  it.each([
    '1234-567',
    '12-34',
    '12-345-67',
    '1-2-3',
    '12-34-56-78-9',
    '12-34-56-78-90',
    '1--2',
    '16760320-',
    '16760320-12',
  ])('%s is nothing', (text) => {
    expect(refusal(text)).toBe(`invalid_identifier: ${FORM}`);
  });
});

describe('nine bare digits', () => {
  it('are a RIF whose last digit is the check digit', () => {
    expect(written(parseIdentifier('167603200'))).toBe('V/16760320/0');
    expect(written(parseIdentifier('J167603202'))).toBe('J/16760320/2');
    expect(written(parseIdentifier('J-012345673'))).toBe('J/01234567/3');
  });

  it('with a wrong check digit are refused for it, not searched as something else', () => {
    expect(refusal('167603209')).toContain('invalid_check_digit');
    expect(refusal('012345671')).toContain('invalid_check_digit');
    expect(refusal('J-167603200')).toContain('invalid_check_digit');
  });

  it.each(['012345678', 'V012345678', 'V-012345673'])(
    'from 0 on are refused as form when nobody verifies: %s',
    (text) => {
      expect(refusal(text, UNVERIFIED)).toBe(`invalid_identifier: ${FORM}`);
    },
  );

  it('from another digit on are accepted when nobody verifies, and marked', () => {
    const identifier = parseIdentifier('167603209', UNVERIFIED);
    expect(written(identifier)).toBe('V/16760320/9');
    expect(identifier.checkDigitValid).toBe(false);
  });

  it.each(['167.603.200', '167 603 200', '167-603-200', '167603200-1', '1234567890', 'V1234567890', '123456789012'])(
    'are bare: %s has too many digits',
    (text) => {
      expect(refusal(text)).toBe(`invalid_identifier: ${RANGE}`);
    },
  );
});

describe('what is refused', () => {
  it.each(['', '   ', '\t\n', 12345678, null, undefined, {}, ['16760320'], new String('16760320')])(
    'nothing, or nothing written: %p',
    (input) => {
      expect(refusal(input)).toBe(`invalid_identifier: ${EMPTY}`);
    },
  );

  it.each(['0', 'V-0', '00000000', 'V-00000000-7', '000.000', '000000007', '000000000', 'J0-6'])(
    'a number of zeros: %s',
    (text) => {
      expect(refusal(text)).toBe(`invalid_identifier: ${FORM}`);
    },
  );

  it.each([
    ...[
      'abc',
      'V',
      'RIF',
      'RIF:',
      'CI V',
      'C.I.',
      '.-. ',
      '-',
      '-16760320',
      ':16760320',
      '.16760320',
      '16760320.',
      '16760320 V',
    ],
    ...[
      '1-6.7 6-0320',
      'V.....................1',
      'V--16760320',
      'V..16760320',
      'V.16760320',
      '16..760.320',
      '16  760  320',
    ],
    ...[
      '1.6760320',
      '1676.0320',
      '16.760320',
      '16760.320',
      '16.76.0320',
      '1234.567',
      '16.760,320',
      '16.760-320',
      '16-760.320',
    ],
    ...['16760320.0', '16760320 0', '16.760.320.0', '16,760,320,0', '16760320 -0 -0', 'J16760320-2-', 'J-16760320-2 x'],
    ...[
      '1_2',
      '1/2',
      '+16760320',
      'VV16760320',
      '16760320V',
      '1676032O',
      '1e5',
      '0x10',
      'V:16760320',
      'RIFRIF J1',
      'RIF:: J1',
    ],
    ...[
      'C.I 16760320',
      'C I 16760320',
      'CI. 16760320',
      'R.I.F. J1',
      'cédula 16760320',
      'Ñ16760320',
      '167\n60320',
      'V\n16760320',
    ],
    ...['16\u2014760', 'V\u201016760320', 'V\u200b16760320', '16\u3000760\u3000320', 'V\u221216760320'],
  ])('a text in no written form: %j', (text) => {
    expect(refusal(text)).toBe(`invalid_identifier: ${FORM}`);
  });

  it.each([
    ...['Ｖ16760320', 'V１６７６０３２０', '١٦٧٦٠٣٢٠', 'V²²²²²²²²', 'V²²²²²²²²²', '1676032²', '16760320-²', 'V１'],
    // Letters that become ASCII only when somebody upper-cases them.
    ...['cı16760320', 'rıf J1', 'r\ufb01 1', 'Vſ1', '\u01561'],
  ])('digits and letters beyond ASCII: %j', (text) => {
    expect(refusal(text)).toBe(`invalid_identifier: ${FORM}`);
  });

  it('a text longer than any written form, before reading it', () => {
    expect(refusal(`V${' '.repeat(70)}16760320`)).toBe(`invalid_identifier: ${FORM}`);
    expect(parseIdentifier(`${' '.repeat(10_000)}V16760320${' '.repeat(10_000)}`).short).toBe('V16760320');
  });

  it('never with the text in the message', () => {
    for (const text of ['V-16760320-9', 'Z16760320', '16760320x', '1676032000']) {
      expect(refusal(text)).not.toMatch(/\d/);
    }
  });
});
