import { Injectable } from '@nestjs/common';
import { IdentifierError, type IdentifierErrorCode } from '../identifiers/identifier-error.js';
import { parseIdentifier, type IdentifierRules } from '../identifiers/parse-identifier.js';
import type { McpCall } from '../mcp/call.js';
import { CallError } from '../mcp/errors.js';
import { IDENTIFIER_MAX_LENGTH } from './contract.js';
import { IdentifiersSettings } from './identifiers.settings.js';
import { ERRORS } from './texts.js';

const USER_TEXTS: Readonly<Record<IdentifierErrorCode, string>> = {
  invalid_identifier: ERRORS.invalidIdentifier,
  invalid_check_digit: ERRORS.invalidCheckDigit,
};

/** Turns an argument into the canonical subject of a call, and a bad one into what its caller reads (spec §5.6). */
@Injectable()
export class IdentifierReader {
  private readonly rules: IdentifierRules;

  constructor(settings: IdentifiersSettings) {
    this.rules = rulesOf(settings);
  }

  /**
   * Short canonical form of the argument `name` of arguments that nobody has validated yet. Null when validation is going
   * to refuse it (missing, not a string, too long). Throws CallError `invalid_identifier` or `invalid_check_digit`.
   */
  subject(input: unknown, name = 'identificador'): string | null {
    const text = argument(input, name);
    if (typeof text !== 'string' || text.length > IDENTIFIER_MAX_LENGTH) return null;
    try {
      return parseIdentifier(text, this.rules).short;
    } catch (error) {
      if (error instanceof IdentifierError) throw new CallError(error.code, USER_TEXTS[error.code]);
      throw error;
    }
  }
}

/** Reads an identifier that is no argument of a call, such as an attribute of a caller; undefined when it is none. */
export const canonicalOf =
  (settings: IdentifiersSettings) =>
  (text: string): string | undefined => {
    try {
      return parseIdentifier(text, rulesOf(settings)).short;
    } catch (error) {
      if (error instanceof IdentifierError) return undefined;
      throw error;
    }
  };

function rulesOf({ incluirPrefijoC, validarDigitoVerificador }: IdentifiersSettings): IdentifierRules {
  return { prefixC: incluirPrefijoC, verifyCheckDigit: validarDigitoVerificador };
}

/** The subject of a call whose arguments have been validated; parsed once per call, before any source is touched. */
export function subjectOf(call: McpCall): string {
  const subject = call.subject();
  if (subject === null) throw new Error('validated arguments without an identifier');
  return subject;
}

function argument(input: unknown, name: string): unknown {
  if (typeof input !== 'object' || input === null || !Object.hasOwn(input, name)) return undefined;
  return (input as Readonly<Record<string, unknown>>)[name];
}
