import pg from 'pg';

/**
 * The parts of `pg` that we use and that its type declarations leave out. One place to look at when `pg` is upgraded:
 * each name below was read in pg 8.23.1 and is covered by a test of the real server.
 */

/** A client after its login: what a CancelRequest needs to name the session. */
export interface SessionKey {
  readonly processID: number | null;
  readonly secretKey: number | null;
}

export function sessionKeyOf(client: pg.ClientBase): SessionKey {
  return client as unknown as SessionKey;
}

/** The writing half of a connection, as a query sees it. */
export interface DriverConnection {
  execute(message: { portal: string; rows: number }): void;
  sync(): void;
}

export interface DriverRow {
  /** Bytes of the message. */
  readonly length: number;
  /** Values as PostgreSQL's text. */
  readonly fields: readonly (string | null)[];
}

interface DriverQuery<Row> extends pg.Query {
  handleDataRow(row: DriverRow): void;
  readonly _result: { readonly rows: Row[] };
}

type QueryConstructor = new <Row>(
  /** `queryMode: 'extended'` also for statements without parameters: one statement only, and limits apply. */
  config: { text: string; values: readonly unknown[]; queryMode: 'extended' },
  done: (error: Error | null) => void,
) => DriverQuery<Row>;

export const ExtendedQuery = pg.Query as unknown as QueryConstructor;
