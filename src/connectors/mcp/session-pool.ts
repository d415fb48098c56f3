import { type Account } from '../../resilience/connector.js';
import { SaturatedError } from '../../resilience/errors.js';
import { accountSecretOf } from '../account-secret.js';
import { type SessionPoolOptions } from './session-options.js';
import { SharedSession } from './shared-session.js';

/**
 * Law (issue 5, point 1): one session per (account, credential epoch), so that nobody ever acts under the credential of
 * somebody else; shared by all calls of that account. A session that is dead, or whose credential is another one now, gets no
 * new calls; it is closed when the last call that it carries is over.
 */
export class SessionPool {
  readonly #sessions = new Map<string, SharedSession>();
  /** Also those that are on their way out. */
  readonly #all = new Set<SharedSession>();
  #closed = false;

  constructor(private readonly options: SessionPoolOptions) {}

  get open(): number {
    return this.#all.size;
  }

  get inUse(): number {
    return [...this.#all].filter(({ leases }) => leases > 0).length;
  }

  /**
   * The session of an account, with one lease on it taken. Rejects when it cannot be opened, or with SaturatedError when there
   * are too many and all are in use.
   */
  async acquire(account: Account, signal: AbortSignal): Promise<SharedSession> {
    const { epoch, secret } = accountSecretOf(account);
    const key = `${account.key}\0${epoch}`;
    let shared = this.#sessions.get(key);
    if (shared === undefined || !shared.isUsable) {
      shared?.retire();
      this.#makeRoom();
      shared = this.#open(key, account.key, secret);
    } else {
      // The most recent at the end: room is made from the other.
      this.#sessions.delete(key);
      this.#sessions.set(key, shared);
    }
    shared.take();
    try {
      await shared.ready(signal);
      return shared;
    } catch (error) {
      shared.release();
      throw error;
    }
  }

  /** Sessions of accounts for which `keep` says no get no new calls. */
  retain(keep: (account: string) => boolean): void {
    for (const shared of this.#all) if (!keep(shared.account)) shared.retire();
  }

  /** Ends every session, in use or not. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#all].map((shared) => shared.destroy()));
  }

  #open(key: string, account: string, credential: string): SharedSession {
    if (this.#closed) throw new SaturatedError(this.options.source);
    // The same account under another credential: whoever still uses it may end, nobody else begins.
    for (const other of this.#sessions.values()) if (other.account === account) other.retire();
    const shared = new SharedSession(account, credential, this.options, {
      retired: (one) => {
        if (this.#sessions.get(key) === one) this.#sessions.delete(key);
      },
      gone: (one) => this.#all.delete(one),
    });
    this.#sessions.set(key, shared);
    this.#all.add(shared);
    return shared;
  }

  #makeRoom(): void {
    if (this.#all.size < this.options.maxSessions) return;
    const idle = [...this.#sessions.values()].find(({ leases }) => leases === 0);
    if (idle === undefined) throw new SaturatedError(this.options.source);
    idle.retire();
  }
}
