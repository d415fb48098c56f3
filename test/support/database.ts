import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import pg from 'pg';

/** Where the run's one PostgreSQL is (global-setup.mjs), and its superuser. */
export interface TestServer {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
}

export function testServer(): TestServer {
  const file = process.env['TEST_POSTGRES_CONNECTION_FILE'];
  if (file === undefined) throw new Error('test/support/global-setup.mjs has not run');
  return JSON.parse(readFileSync(file, 'utf8')) as TestServer;
}

export interface DsnParts {
  readonly user?: string;
  readonly password?: string;
  readonly port?: number;
  readonly query?: string;
}

/** A DSN of the test server; parts that are not given are its own. */
export function dsnOf(database: string, parts: DsnParts = {}): string {
  const { host, ...server } = testServer();
  const { user, password, port, query } = { ...server, query: 'sslmode=disable', ...parts };
  return `postgresql://${encodeURIComponent(user)}:${encodeURIComponent(password)}@${host}:${port}/${database}?${query}`;
}

/** A database of its own, with the rows of deploy/dev/postgres-seed.sql. */
export interface TestDatabase {
  readonly name: string;
  readonly dsn: string;
  /** Runs statements as the superuser, over a connection of its own. */
  query<Row extends pg.QueryResultRow>(sql: string, parameters?: readonly unknown[]): Promise<Row[]>;
  /** Also ends the connections that are left in it. */
  drop(): Promise<void>;
}

export async function createDatabase(): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await queryOnce(dsnOf('postgres'), `create database ${name} template seed`);
  const dsn = dsnOf(name);
  return {
    name,
    dsn,
    query: (sql, parameters) => queryOnce(dsn, sql, parameters),
    drop: async () => void (await queryOnce(dsnOf('postgres'), `drop database ${name} with (force)`)),
  };
}

/** One connection, one statement. */
export async function queryOnce<Row extends pg.QueryResultRow>(
  dsn: string,
  sql: string,
  parameters: readonly unknown[] = [],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: dsn });
  client.on('error', () => undefined); // the query or the connect reports the same error
  await client.connect();
  try {
    return (await client.query<Row>(sql, [...parameters])).rows;
  } finally {
    await client.end();
  }
}
