export type IdentifierErrorCode = 'invalid_identifier' | 'invalid_check_digit';

/** Why a text is not an identifier. The message is internal (spec §6.1) and never holds the text; callers go by `code`. */
export class IdentifierError extends Error {
  override readonly name = 'IdentifierError';

  constructor(
    readonly code: IdentifierErrorCode,
    message: string,
  ) {
    super(message);
  }
}
