import { type CompiledQuery } from 'kysely';
import pg from 'pg';
import { type Clock } from '../../resilience/clock.js';
import { type ReadCaps } from './capped-query.js';
import { type Connection, type ConnectionPool } from './connection-pool.js';
import { AllowanceExceededError } from './database-socket.js';
import { AnswerTooLargeError, ConnectionLostError, LeaseMisuseError } from './postgres-errors.js';
import { type ReadOutcome, readTransaction, type Statement } from './read-transaction.js';
import { type SessionSettings } from './session-settings.js';
import { endsSession, isCancelled, isUnknownSetting } from './sqlstate.js';

export interface ReadResult<Row> {
  readonly rows: readonly Row[];
  /** A cap was reached: there are more rows than these. */
  readonly truncated: boolean;
}

/** What an operation may do with the connection that it was lent. */
export interface PostgresLease {
  /**
   * One statement in a read-only transaction of its own, in one round trip. Values come as value-parsers.ts says. One at a
   * time; after the lease has ended it rejects.
   */
  query<Row>(statement: CompiledQuery<Row>): Promise<ReadResult<Row>>;
}

/** Time for a cancelled statement to end, before it is cancelled again. */
const CANCEL_AGAIN_MS = 50;

/**
 * One connection in somebody's hands. Its law: `end` resolves when nothing of it is left on the wire and the connection is
 * back in the pool, or when its socket is closed. What is still running then is cancelled politely; the connection goes
 * back only if that statement ended *because* of the cancel and the cancel's own socket is closed: otherwise the cancel
 * could hit the next borrower's statement. `kill` destroys whatever there is, at any time.
 */
export class ReadLease implements PostgresLease {
  #connection: Connection | undefined;
  /** The read in progress; resolves, never rejects, when it is over. */
  #reading: Promise<unknown> | undefined;
  /** Where a statement is on the wire just now. */
  #onWire: Connection | undefined;
  #ended = false;
  #lastError: unknown;
  #abandonCancel: (() => void) | undefined;

  constructor(
    private readonly pool: ConnectionPool,
    private readonly session: SessionSettings,
    private readonly caps: ReadCaps,
    private readonly killed: AbortSignal,
    private readonly clock: Clock,
    /** The statement as it is sent; absent = as it is. */
    private readonly annotate?: (sql: string) => string,
  ) {}

  /** See `ConnectionPool.checkout`. */
  async begin(): Promise<void> {
    this.#connection = await this.pool.checkout(this.killed);
  }

  async query<Row>(statement: CompiledQuery<Row>): Promise<ReadResult<Row>> {
    if (this.#ended) throw new LeaseMisuseError('the lease has ended');
    if (this.#reading) throw new LeaseMisuseError('the lease is already reading: one statement at a time');
    const { sql, parameters } = statement;
    if (!parameters.every(isExact)) throw new LeaseMisuseError('a parameter is not text, number, boolean or null');
    const reading = this.#read<Row>({ sql: this.annotate?.(sql) ?? sql, parameters });
    const over = reading.then(
      () => undefined,
      (error: unknown) => (this.#lastError = error),
    );
    this.#reading = over;
    try {
      return await reading;
    } finally {
      this.#reading = undefined;
    }
  }

  /** Destroys the connection and a cancel in progress. A connection that is still being opened is the pool's business. */
  kill(): void {
    this.#connection?.socket.destroy();
    this.#abandonCancel?.();
  }

  async end(): Promise<void> {
    this.#ended = true;
    const clean = this.#reading === undefined || (await this.#stop(this.#reading));
    const connection = this.#connection;
    if (connection === undefined) return;
    this.#connection = undefined;
    const usable = clean && !this.killed.aborted && !connection.broken && !connection.socket.destroyed;
    if (usable && connection.client.getTransactionStatus() === 'I') this.pool.checkin(connection);
    else await this.pool.discard(connection);
  }

  /**
   * True: the connection is idle and no cancel is under way to it. A cancel that overtakes its statement finds the session
   * idle and is ignored, so it is sent again until the statement has ended; never a second one beside the first.
   */
  async #stop(reading: Promise<unknown>): Promise<boolean> {
    let over = false;
    const ended = reading.then(() => (over = true));
    let clean = true;
    while (!over && !this.killed.aborted && this.#onWire) {
      const { delivered, abandon } = this.pool.cancel(this.#onWire);
      this.#abandonCancel = abandon;
      clean = (await delivered) && clean;
      if (!over) await this.#pause(ended);
    }
    const sent = this.#abandonCancel !== undefined;
    await ended;
    return !sent || (clean && isCancelled(this.#lastError));
  }

  #pause(ended: Promise<unknown>): Promise<void> {
    return new Promise((resolve) => {
      const cancelTimer = this.clock.after(CANCEL_AGAIN_MS, resolve);
      void ended.then(() => {
        cancelTimer();
        resolve();
      });
    });
  }

  async #read<Row>(statement: Statement): Promise<ReadResult<Row>> {
    let outcome = await this.#send<Row>(statement);
    if (outcome.begun !== null && !this.#ended) {
      if (this.#diedIdle(outcome.begun)) {
        await this.#replaceConnection();
        outcome = await this.#send<Row>(statement);
      } else if (this.session.checksConnection && isUnknownSetting(outcome.begun)) {
        this.session.leaveConnectionUnchecked();
        outcome = await this.#send<Row>(statement);
      }
    }
    const { rows, truncated, error } = outcome;
    const tooLarge = error instanceof AllowanceExceededError || (truncated && rows.length === 0);
    if (tooLarge) throw new AnswerTooLargeError();
    if (error !== null) throw this.#explain(error);
    return { rows, truncated };
  }

  async #send<Row>(statement: Statement): Promise<ReadOutcome<Row>> {
    const connection = this.#connection;
    if (connection === undefined || this.#ended) throw new LeaseMisuseError('the lease has ended');
    this.#onWire = connection;
    try {
      return await readTransaction<Row>(connection, this.session.begin, statement, this.caps);
    } finally {
      this.#onWire = undefined;
    }
  }

  /**
   * The server had ended the session while nobody used it (a restart, an idle timeout of a firewall), and we learn it only
   * now. Nothing of the statement has run, since the transaction was never begun: once more cannot do anything twice.
   */
  #diedIdle(error: Error): boolean {
    const connection = this.#connection;
    if (connection === undefined || !connection.used || this.killed.aborted) return false;
    return error instanceof pg.DatabaseError ? endsSession(error) : connection.broken;
  }

  async #replaceConnection(): Promise<void> {
    const dead = this.#connection;
    this.#connection = undefined;
    // One such death says that all the others of that time are as dead: they must not cost a call each.
    this.pool.dropIdle();
    if (dead) await this.pool.discard(dead);
    this.#connection = await this.pool.checkout(this.killed);
  }

  /** An error of the driver on a healthy connection is ours (a value it cannot read); on a dead one it is the source's. */
  #explain(error: Error): Error {
    if (error instanceof pg.DatabaseError || this.#connection?.broken !== true) return error;
    return new ConnectionLostError(error);
  }
}

/** What has exactly one text in SQL. A Date would be written in the machine's time zone, an object as whatever JSON. */
function isExact(value: unknown): boolean {
  return value === null || ['string', 'number', 'bigint', 'boolean'].includes(typeof value);
}
