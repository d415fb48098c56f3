import { type LookupFunction } from 'node:net';
import { sql } from 'kysely';
import { type EventLog } from '../../logging/event-log.js';
import { type Clock, systemClock } from '../../resilience/clock.js';
import {
  type Account,
  type Connector,
  type ConnectorRunOptions,
  type Failure,
  type Operation,
} from '../../resilience/connector.js';
import { type ReadCaps } from './capped-query.js';
import { AccountPools, refusesLogin } from './account-pools.js';
import { type ConnectionPool } from './connection-pool.js';
import { type Dsn } from './dsn.js';
import { causeCode } from './cause-code.js';
import { AccountRefusedError, ConnectionKilledError } from './postgres-errors.js';
import { ReadLease, type PostgresLease } from './read-lease.js';
import { SessionSettings } from './session-settings.js';
import { commented } from './sql-comment.js';
import { AccountCooldown } from '../account-cooldown.js';
import { statementBuilder } from './statement-builder.js';
import { classifyPostgres } from './sqlstate.js';
import { type TlsPolicy } from './tls-policy.js';

export interface PostgresConnectorOptions {
  /** The source's name. */
  readonly name: string;
  readonly dsn: Dsn;
  /** The password of now, for each new connection; absent = that of the DSN. Never rejects. */
  readonly password?: () => Promise<string>;
  readonly tls: TlsPolicy | undefined;
  /** The source's own resolver (law 9). */
  readonly lookup: LookupFunction;
  /** What `pg_stat_activity` shows. */
  readonly applicationName: string;
  /** Connections kept open, and the most that are ever open, CancelRequests aside. */
  readonly minPoolSize: number;
  readonly maxPoolSize: number;
  /** Longest time of `connect`. */
  readonly openTimeoutMs: number;
  /** The executor's own times: the connector's backstops lie behind them, so that none of them races. */
  readonly operationTimeoutMs: number;
  readonly cancelGraceMs: number;
  readonly caps?: ReadCaps;
  /** Each statement says in a comment which call it belongs to. */
  readonly sqlComment?: boolean;
  readonly log: EventLog;
  readonly clock?: Clock;
}

/** A model reads the answer: what is larger is no answer. */
const CAPS: ReadCaps = { maxRows: 1_000, maxBytes: 1_048_576 };
const KEEP_ALIVE_MS = 10_000;
/** By how much a connect may outlive the executor's kill, which comes first. */
const CONNECT_MARGIN_MS = 1_000;
/** Longest wait for health() (spec §4.1), and how long its statement then has to end politely. */
const HEALTH_TIMEOUT_MS = 3_000;
const HEALTH_GRACE_MS = 1_000;
const DETAILS = {
  late: 'Postgres no respondió a tiempo; arranca en modo degradado',
  down: 'Postgres no está disponible; arranca en modo degradado',
};

const SELECT_ONE = statementBuilder<object>()
  .selectNoFrom(sql<number>`1`.as('one'))
  .compile();

/**
 * How to talk to one PostgreSQL (architecture §5). No resilience inside; its own law is law 4: `run` settles only when the
 * connection is back in the pool or its socket is closed, whatever the operation's own promise does.
 */
export class PostgresConnector implements Connector<PostgresLease> {
  readonly name: string;
  readonly #options: PostgresConnectorOptions;
  readonly #clock: Clock;
  readonly #caps: ReadCaps;
  readonly #session: SessionSettings;
  readonly #annotate: ((sql: string) => string) | undefined;
  readonly #pools: AccountPools;
  readonly #cooldown: AccountCooldown;
  /** Whether the last thing that the source was asked for worked; undefined before the first. */
  #working: boolean | undefined;
  #announced: 'opened' | 'degraded' | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: PostgresConnectorOptions) {
    const { operationTimeoutMs, cancelGraceMs, dsn, tls, lookup } = options;
    this.name = options.name;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#caps = options.caps ?? CAPS;
    this.#annotate = options.sqlComment === true ? commented : undefined;
    this.#session = new SessionSettings(operationTimeoutMs + cancelGraceMs);
    this.#cooldown = new AccountCooldown(this.name, this.#clock);
    this.#pools = new AccountPools({
      dsn,
      password: options.password,
      route: { lookup, tls, keepAliveMs: KEEP_ALIVE_MS },
      applicationName: options.applicationName,
      min: options.minPoolSize,
      max: options.maxPoolSize,
      connectTimeoutMs: operationTimeoutMs + cancelGraceMs + CONNECT_MARGIN_MS,
      clock: this.#clock,
    });
  }

  /** Opens the connections that are to be kept open; at least one, so that a source that is down is noticed. */
  async connect(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { minPoolSize, maxPoolSize, openTimeoutMs, log } = this.#options;
    const giveUp = new AbortController();
    const stop = (): void => giveUp.abort();
    signal.addEventListener('abort', stop);
    const cancelTimer = this.#clock.after(openTimeoutMs, stop);
    const opening = Array.from({ length: Math.max(1, minPoolSize) }, () => this.#pools.own.checkout(giveUp.signal));
    const opened = await Promise.allSettled(opening);
    cancelTimer();
    signal.removeEventListener('abort', stop);
    for (const each of opened) if (each.status === 'fulfilled') this.#pools.own.checkin(each.value);
    const failed = opened.find((each) => each.status === 'rejected');
    this.#working = failed === undefined;
    if (failed) {
      // The executor tries again and again: the story is told when it changes.
      if (this.#announced !== 'degraded') {
        const detail = giveUp.signal.aborted ? DETAILS.late : DETAILS.down;
        log.warning('connector_pool_degraded_start', { source: this.name, detail, error: causeCode(failed.reason) });
      }
      this.#announced = 'degraded';
      throw failed.reason;
    }
    if (this.#announced !== 'opened') {
      log.info('connector_pool_opened', {
        source: this.name,
        min_pool_size: minPoolSize,
        max_pool_size: maxPoolSize,
      });
    }
    this.#announced = 'opened';
  }

  close(): Promise<void> {
    this.#closed ??= this.#pools
      .close()
      .then(() => this.#options.log.info('connector_pool_closed', { source: this.name }));
    return this.#closed;
  }

  /**
   * `SELECT 1` within 3 s. A pool that is busy while operations succeed is healthy, and is not asked: a connection for a
   * question would be one that a caller waits for.
   */
  async health(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    if (this.#pools.busy) return this.#working === true;
    const polite = new AbortController();
    const kill = new AbortController();
    const stop = (): void => {
      cancelTimer();
      if (polite.signal.aborted) return;
      polite.abort(new HealthTimeoutError());
      cancelTimer = this.#clock.after(HEALTH_GRACE_MS, () => kill.abort());
    };
    let cancelTimer = this.#clock.after(HEALTH_TIMEOUT_MS, stop);
    signal.addEventListener('abort', stop);
    const answer = this.run((lease) => lease.query(SELECT_ONE), { signal: polite.signal, kill: kill.signal });
    try {
      // Does not wait for a connection that is slow to come back: that goes on behind it, bounded by the kill.
      await unlessAborted(
        polite.signal,
        answer.finally(() => cancelTimer()),
      );
      return true;
    } catch (error) {
      this.#options.log.warning('connector_health_check_failed', { source: this.name, error: causeCode(error) });
      return false;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  async run<T>(operation: Operation<PostgresLease, T>, { signal, kill, account }: ConnectorRunOptions): Promise<T> {
    signal.throwIfAborted();
    const pool = this.#poolOf(account);
    const lease = new ReadLease(pool, this.#session, this.#caps, kill, this.#clock, this.#annotate);
    let begun = false;
    const onKill = (): void => lease.kill();
    kill.addEventListener('abort', onKill);
    try {
      await lease.begin();
      begun = true;
      signal.throwIfAborted();
      const value = await unlessAborted(signal, unlessAborted(kill, operation(lease, signal)));
      this.#working = true;
      return value;
    } catch (error) {
      if (!kill.aborted) {
        if (account !== undefined && refusesLogin(error)) throw this.#refused(account, error);
        if (!signal.aborted && this.classify(error).kind === 'infrastructure') this.#working = false;
        throw error;
      }
      this.#working = false;
      // The server did not answer in time; what idles was opened to the same server.
      this.#pools.dropIdle();
      throw error instanceof ConnectionKilledError ? error : new ConnectionKilledError(!begun);
    } finally {
      await lease.end();
      kill.removeEventListener('abort', onKill);
    }
  }

  classify(error: unknown): Failure {
    return classifyPostgres(error);
  }

  stats(): Readonly<Record<string, number>> {
    return this.#pools.snapshot();
  }

  /** Whose connections a call uses: those of its account, or the source's own. */
  #poolOf(account: Account | undefined): ConnectionPool {
    if (account !== undefined) this.#cooldown.check(account);
    return this.#pools.of(account);
  }

  #refused(account: Account, cause: unknown): AccountRefusedError {
    this.#cooldown.refused(account);
    this.#options.log.warning('connector_account_refused', {
      source: this.name,
      account: account.key,
      error: causeCode(cause),
    });
    return new AccountRefusedError(cause);
  }
}

class HealthTimeoutError extends Error {
  override readonly name = 'HealthTimeoutError';
}

/** As `promise`, but rejects with the signal's reason as soon as it aborts. The promise itself goes on. */
function unlessAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort);
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
