import { type Clock } from '../resilience/clock.js';
import { type Account } from '../resilience/connector.js';
import { RejectedError } from '../resilience/errors.js';
import { accountSecretOf } from './account-secret.js';

/** Milliseconds for which a refused credential is not tried again. Servers lock accounts that try too often. */
export const COOLDOWN_MS = 30_000;

/**
 * Accounts whose credential the source has refused. Law 6: that is the account's fault, so the breaker does not hear of it
 * and nobody else waits. The account itself is refused at once until the time is over or its secret is another one.
 */
export class AccountCooldown {
  readonly #until = new Map<string, { readonly epoch: string; readonly at: number }>();

  constructor(
    private readonly source: string,
    private readonly clock: Clock,
  ) {}

  /** Throws RejectedError, as what it is: an answer of ours, that says nothing about the source. */
  check(account: Account): void {
    const cooling = this.#until.get(account.key);
    if (cooling === undefined) return;
    if (cooling.epoch === accountSecretOf(account).epoch && this.clock.now() < cooling.at) {
      throw new RejectedError(this.source);
    }
    this.#until.delete(account.key);
  }

  refused(account: Account): void {
    this.#until.set(account.key, { epoch: accountSecretOf(account).epoch, at: this.clock.now() + COOLDOWN_MS });
  }
}
