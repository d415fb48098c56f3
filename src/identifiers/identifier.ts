/** Letters that SENIAT gives: person, foreigner, company, passport, government, communal (`C` by configuration only). */
export type Letter = 'V' | 'E' | 'J' | 'G' | 'P' | 'C';

/** A cédula or RIF in canonical form. Never log it: log its pseudonym. */
export class Identifier {
  constructor(
    readonly letter: Letter,
    /** Exactly 8 ASCII digits, padded with zeros, not all zero. */
    readonly number: string,
    /** One ASCII digit, or null when the text carried none. */
    readonly checkDigit: string | null,
    /** Whether `checkDigit` is the right one; null when there is none. False only where checking is switched off. */
    readonly checkDigitValid: boolean | null,
    /** The text had no letter: `V` is our assumption, not what was said. */
    readonly letterAssumed: boolean,
  ) {}

  /** What the sources are asked with: `V16760320`. */
  get short(): string {
    return this.letter + this.number;
  }

  /** `J-16760320-2`. Throws when the identifier carries no check digit: one is never made up. */
  get rif(): string {
    if (this.checkDigit === null) throw new Error('el identificador no trae dígito verificador');
    return `${this.letter}-${this.number}-${this.checkDigit}`;
  }
}
