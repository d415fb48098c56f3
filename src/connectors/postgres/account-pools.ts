import pg from 'pg';
import { type Account } from '../../resilience/connector.js';
import { accountSecretOf } from '../account-secret.js';
import { ConnectionPool, type PoolOptions } from './connection-pool.js';
import { ConnectionRoom } from './connection-room.js';
import { type Dsn, DsnError, parseDsn } from './dsn.js';
import { AccountRefusedError, ConnectFailedError } from './postgres-errors.js';

interface AccountPool {
  readonly epoch: string;
  readonly pool: ConnectionPool;
}

/**
 * The pools of one source: that of its own credentials, and one for each account that has called, keyed by the account and
 * the epoch of its secret. Two accounts never share a connection; all together never hold more than the source may.
 */
export class AccountPools {
  readonly own: ConnectionPool;
  readonly #room: ConnectionRoom;
  readonly #accounts = new Map<string, AccountPool>();
  /** Pools of secrets that have been replaced: what they have lent comes back and is closed. */
  readonly #retired = new Set<ConnectionPool>();
  /** What pools that are gone have counted: a total never goes back. */
  readonly #gone: Record<string, number> = {};
  #closed: Promise<void> | undefined;

  constructor(private readonly options: Omit<PoolOptions, 'room'>) {
    this.#room = new ConnectionRoom(options.max);
    this.own = new ConnectionPool({ ...options, room: this.#room });
  }

  /** Nothing is free for the source itself and nothing more may be opened. */
  get busy(): boolean {
    return this.own.busy || (this.own.idle === 0 && this.#room.isFull);
  }

  /** Throws AccountRefusedError when the secret is no login. */
  of(account: Account | undefined): ConnectionPool {
    if (account === undefined) return this.own;
    const { epoch, secret } = accountSecretOf(account);
    const known = this.#accounts.get(account.key);
    if (known?.epoch === epoch) return known.pool;
    const login = loginOf(account.key, secret);
    if (known !== undefined) this.#retire(known.pool);
    const dsn = { ...this.options.dsn, ...login };
    // Its own secret, and not the source's.
    const pool = new ConnectionPool({ ...this.options, dsn, password: undefined, min: 0, room: this.#room });
    this.#accounts.set(account.key, { epoch, pool });
    return pool;
  }

  dropIdle(): void {
    for (const pool of this.#all()) pool.dropIdle();
  }

  /** Never rejects. */
  close(): Promise<void> {
    this.#closed ??= Promise.all(this.#all().map((pool) => pool.close())).then(() => undefined);
    return this.#closed;
  }

  /** Sums over all pools; the bounds are the source's. */
  snapshot(): Record<string, number> {
    const sums = { ...this.#gone };
    for (const pool of this.#all()) add(sums, pool.statistics.snapshot());
    return { ...sums, pool_min: this.options.min, pool_max: this.options.max };
  }

  #all(): ConnectionPool[] {
    return [this.own, ...[...this.#accounts.values()].map(({ pool }) => pool), ...this.#retired];
  }

  #retire(pool: ConnectionPool): void {
    for (const old of this.#retired) {
      if (!old.isEmpty) continue;
      this.#retired.delete(old);
      add(this.#gone, old.statistics.snapshot());
    }
    pool.retire();
    this.#retired.add(pool);
  }
}

function add(sums: Record<string, number>, figures: Readonly<Record<string, number>>): void {
  for (const [key, value] of Object.entries(figures)) sums[key] = (sums[key] ?? 0) + value;
}

/**
 * A DSN, of which only user and password count (the source is the one that it is), or the password of the role that is
 * named like the account.
 */
function loginOf(account: string, secret: string): Pick<Dsn, 'user' | 'password'> {
  if (!/^postgres(ql)?:\/\//i.test(secret)) {
    if (secret.includes('\0')) throw new AccountRefusedError();
    return { user: account, password: secret };
  }
  try {
    const { user, password } = parseDsn(secret);
    return { user, password };
  } catch (error) {
    // Nothing of the DSN is in the error, and nothing of it goes on.
    if (error instanceof DsnError) throw new AccountRefusedError();
    throw error;
  }
}

/** The server refused the login itself (class 28), or this role may not connect to this database (42501). */
export function refusesLogin(error: unknown): boolean {
  if (!(error instanceof ConnectFailedError) || !(error.cause instanceof pg.DatabaseError)) return false;
  const { code = '' } = error.cause;
  return code.startsWith('28') || code === '42501';
}
