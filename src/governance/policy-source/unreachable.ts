/**
 * The policy could not be had; `code` is the system's (`ENOENT`) or a word for what went wrong. Neither its place nor its
 * content is in it.
 */
export class PolicyUnreachableError extends Error {
  override readonly name = 'PolicyUnreachableError';

  constructor(readonly code: string) {
    super(`the policy cannot be read (${code})`);
  }
}
