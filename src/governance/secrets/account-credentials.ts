import { createHmac, randomBytes } from 'node:crypto';
import type { AccountId } from '../core/index.js';
import type { AccountCredential, CredentialResolver } from '../ports.js';
import type { Secrets } from './secret-text.js';

/** The credential of an account, and an epoch that changes when it does and, outside of this process, means nothing. */
export class AccountCredentials implements CredentialResolver {
  readonly #key = randomBytes(32);

  constructor(private readonly secrets: Secrets) {}

  async resolve(account: AccountId, secretRef: string, signal: AbortSignal): Promise<AccountCredential> {
    const secret = await this.secrets.read(secretRef, signal);
    const epoch = createHmac('sha256', this.#key).update(`${account}\0${secret}`).digest('base64url').slice(0, 16);
    return { account, epoch, secret };
  }
}
