import { type Account } from '../resilience/connector.js';

/** What the credential of a governance account is at a source: `Account.secret`. */
export interface AccountSecret {
  /** Changes when the secret does and tells nothing about it. */
  readonly epoch: string;
  /** For a connector alone: never in a log, an error or a key. */
  readonly secret: string;
}

/** Throws when it is anything else: to go on would use somebody else's credentials. */
export function accountSecretOf({ secret }: Account): AccountSecret {
  if (typeof secret === 'object' && secret !== null && 'epoch' in secret && 'secret' in secret) {
    const { epoch, secret: text } = secret;
    if (typeof epoch === 'string' && typeof text === 'string') return { epoch, secret: text };
  }
  throw new Error('an account without a credential');
}
