import { type CompiledQuery, sql } from 'kysely';
import { parseDsn } from '../../../../src/connectors/postgres/dsn.js';
import {
  PostgresConnector,
  type PostgresConnectorOptions,
} from '../../../../src/connectors/postgres/postgres-connector.js';
import { type PostgresLease, type ReadResult } from '../../../../src/connectors/postgres/read-lease.js';
import { statementBuilder } from '../../../../src/connectors/postgres/statement-builder.js';
import { tlsPolicy } from '../../../../src/connectors/postgres/tls-policy.js';
import { SourceResolver } from '../../../../src/connectors/source-resolver.js';
import { queryOnce } from '../../../support/database.js';
import { RecordedLog } from '../support/recorded-log.js';

const builder = statementBuilder<object>();

/** A statement in plain SQL; its values become parameters. */
export function statement<Row>(strings: TemplateStringsArray, ...values: unknown[]): CompiledQuery<Row> {
  return sql<Row>(strings, ...values).compile(builder);
}

const noFiles = (): never => {
  throw new Error('no files here');
};

/** A connector to `dsn`, with times that a test can wait for. */
export function connectorTo(dsn: string, options: Partial<PostgresConnectorOptions> = {}): PostgresConnector {
  const parsed = parseDsn(dsn);
  return new PostgresConnector({
    name: 'postgres',
    dsn: parsed,
    tls: 'tls' in options ? options.tls : tlsPolicy(parsed, noFiles),
    lookup: new SourceResolver().lookup,
    applicationName: 'mcp-corp-under-test',
    minPoolSize: 0,
    maxPoolSize: 4,
    openTimeoutMs: 5_000,
    operationTimeoutMs: 10_000,
    cancelGraceMs: 2_000,
    log: new RecordedLog(),
    ...options,
  });
}

/** The two signals of one run, and the controllers behind them. */
export class Signals {
  readonly #stop = new AbortController();
  readonly #kill = new AbortController();
  readonly signal = this.#stop.signal;
  readonly kill = this.#kill.signal;
  stop = (reason: Error = new Error('stopped')) => this.#stop.abort(reason);
  destroy = () => this.#kill.abort();
}

export function read<Row>(
  connector: PostgresConnector,
  query: CompiledQuery<Row>,
  signals: Pick<Signals, 'signal' | 'kill'> = new Signals(),
): Promise<ReadResult<Row>> {
  return connector.run((lease: PostgresLease) => lease.query(query), signals);
}

export const ping = (connector: PostgresConnector) => read(connector, statement<{ one: number }>`select 1 as one`);

export interface Activity {
  readonly pid: number;
  readonly state: string | null;
  readonly query: string;
}

/** Sessions that connectors under test have at the server, in one database. */
export function activity(adminDsn: string, database: string): Promise<Activity[]> {
  return queryOnce<Activity>(
    adminDsn,
    "select pid, state, query from pg_stat_activity where datname = $1 and application_name = 'mcp-corp-under-test'",
    [database],
  );
}

/** Asks again, as fast as the answers come, until one satisfies; rejects after `milliseconds`. */
export async function until<T>(
  ask: () => T | Promise<T>,
  satisfied: (answer: T) => boolean,
  milliseconds = 10_000,
): Promise<T> {
  const end = performance.now() + milliseconds;
  for (;;) {
    const answer = await ask();
    if (satisfied(answer)) return answer;
    if (performance.now() > end) throw new Error(`still not so after ${milliseconds} ms: ${JSON.stringify(answer)}`);
    await new Promise(setImmediate);
  }
}

/** What a rejected promise was rejected with. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('it did not reject');
}

export interface Deferred {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

export function deferred(): Deferred {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((settle) => (resolve = settle));
  return { promise, resolve };
}

/** `count` connections lent at the same time, then all given back. */
export async function heldTogether(connector: PostgresConnector, count: number): Promise<void> {
  let missing = count;
  const complete = deferred();
  const hold = async (): Promise<void> => {
    missing -= 1;
    if (missing === 0) complete.resolve();
    await complete.promise;
  };
  await Promise.all(Array.from({ length: count }, () => connector.run(hold, new Signals())));
}
