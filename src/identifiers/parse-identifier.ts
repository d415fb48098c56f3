import { checkDigitOf } from './check-digit.js';
import { readWrittenForm, type WrittenForm } from './grammar.js';
import { IdentifierError } from './identifier-error.js';
import { Identifier, type Letter } from './identifier.js';

export interface IdentifierRules {
  /** Accept the letter `C`. */
  readonly prefixC: boolean;
  /** Refuse a wrong check digit. Off: it is kept and marked (`checkDigitValid: false`). */
  readonly verifyCheckDigit: boolean;
}

export const DEFAULT_RULES: IdentifierRules = { prefixC: false, verifyCheckDigit: true };

/** Characters. A written form without repeated spaces has fewer than 30; beyond this nothing is even looked at. */
const LONGEST = 64;

/**
 * Canonical form of a cédula or RIF in any written form (grammar.ts). Work is bounded whatever the input.
 *
 * Throws `IdentifierError`: `invalid_identifier` (empty, not a string, no written form, all zeros, unknown letter, too
 * many digits; a bad form wins over a bad letter) or `invalid_check_digit`.
 */
export function parseIdentifier(input: unknown, rules: IdentifierRules = DEFAULT_RULES): Identifier {
  const text = typeof input === 'string' ? input.trim() : '';
  if (text === '') throw invalid('identificador vacío o de tipo inválido');
  const form = text.length > LONGEST ? null : readWrittenForm(text);
  if (form === null) throw invalid('formato de identificador no reconocido');
  const letter = letterOf(form, rules);
  const { number, checkDigit } = split(form, rules);
  if (checkDigit === null) return new Identifier(letter, number, null, null, form.letter === null);
  const valid = checkDigitOf(letter, number) === checkDigit;
  if (!valid && rules.verifyCheckDigit) {
    throw new IdentifierError('invalid_check_digit', 'dígito verificador inválido');
  }
  return new Identifier(letter, number, checkDigit, valid, form.letter === null);
}

/** `I` is not among the letters: SENIAT does not give it. */
function letterOf({ letter, digits }: WrittenForm, rules: IdentifierRules): Letter {
  if (isZero(digits)) throw invalid('formato de identificador no reconocido');
  switch (letter) {
    case null:
      return 'V';
    case 'V':
    case 'E':
    case 'J':
    case 'G':
    case 'P':
      return letter;
    case 'C':
      if (rules.prefixC) return letter;
  }
  throw invalid(`prefijo '${letter}' no es un prefijo fiscal válido`);
}

function split(form: WrittenForm, rules: IdentifierRules): { number: string; checkDigit: string | null } {
  const { digits, bare, checkDigit } = form;
  if (digits.length <= 8) return { number: digits.padStart(8, '0'), checkDigit };
  if (digits.length > 9 || !bare || checkDigit !== null) throw invalid('cantidad de dígitos fuera de rango');
  // Nine bare digits from 0 on are just as well a cédula padded with a zero: only a check digit that is verified tells
  // the two apart, and without it the answer could be about somebody else.
  if (digits.startsWith('0') && !rules.verifyCheckDigit) throw invalid('formato de identificador no reconocido');
  const number = digits.slice(0, 8);
  if (isZero(number)) throw invalid('formato de identificador no reconocido');
  return { number, checkDigit: digits.slice(8) };
}

function isZero(digits: string): boolean {
  for (let at = 0; at < digits.length; at += 1) if (digits.charCodeAt(at) !== 0x30) return false;
  return true;
}

function invalid(message: string): IdentifierError {
  return new IdentifierError('invalid_identifier', message);
}
