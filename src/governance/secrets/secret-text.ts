import { unlessAborted } from '../unless-aborted.js';

/**
 * A secret behind a reference. Law: no error says the secret, its reference or its path; what went wrong is one of five
 * words. Each scheme has one reader; what no reader knows cannot be had.
 */
export type SecretProblem = 'unknown_scheme' | 'absent' | 'unreadable' | 'refused' | 'unreachable';

export class SecretError extends Error {
  override readonly name = 'SecretError';

  constructor(readonly problem: SecretProblem) {
    super(`the secret cannot be had: ${problem}`);
  }
}

/** What stands behind `scheme://rest`. Rejects with a SecretError. */
export type SecretScheme = (rest: string, signal: AbortSignal) => Promise<string>;

/** The secrets of one process; the same for the keys of issuers and for the credentials of accounts. */
export class Secrets {
  readonly #schemes: ReadonlyMap<string, SecretScheme>;

  constructor(schemes: Readonly<Record<string, SecretScheme>>) {
    this.#schemes = new Map(Object.entries(schemes));
  }

  get schemes(): readonly string[] {
    return [...this.#schemes.keys()];
  }

  /** Without the white space around it: files end with a line break. Rejects with a SecretError, also for an empty one. */
  async read(reference: string, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    const [, scheme = '', rest = ''] = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/su.exec(reference) ?? [];
    const read = this.#schemes.get(scheme);
    if (read === undefined) throw new SecretError('unknown_scheme');
    const text = (await unlessAborted(read(rest, signal), signal)).trim();
    if (text === '') throw new SecretError('absent');
    return text;
  }
}
