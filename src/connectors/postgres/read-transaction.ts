import { AllowanceExceededError } from './database-socket.js';
import { CappedQuery, type ReadCaps } from './capped-query.js';
import { type Connection } from './connection-pool.js';

export interface Statement {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

/** How the three parts of a read ended. A part behind a failed one fails too; the first failure is the cause. */
export interface ReadOutcome<Row> {
  readonly rows: readonly Row[];
  /** Rows are missing: a cap was reached. */
  readonly truncated: boolean;
  /** The server never began: nothing of the statement has run. */
  readonly begun: Error | null;
  /** The first failure of all. */
  readonly error: Error | null;
}

/** Room for what is not rows: settings, column descriptions, errors. */
const OVERHEAD_BYTES = 262_144;

/**
 * One read-only transaction in one round trip: `begin read only` with the session's settings, the statement, `commit`,
 * written together and answered together. When a part fails, the server skips to the next one, so the commit always ends
 * the transaction. Resolves when nothing of it is on the wire any more; never rejects.
 */
export function readTransaction<Row>(
  { client, socket }: Connection,
  begin: string,
  statement: Statement,
  caps: ReadCaps,
): Promise<ReadOutcome<Row>> {
  return new Promise((resolve) => {
    const errors: (Error | null)[] = [];
    let open = 3;
    const done = (part: number) => (error: Error | null | undefined) => {
      // pg reports a parameter that it cannot write twice.
      if (errors[part] !== undefined) return;
      errors[part] = error ?? null;
      open -= 1;
      if (open > 0) return;
      const overrun = errors[1] instanceof AllowanceExceededError && query.kept.length > 0;
      resolve({
        rows: query.kept,
        truncated: query.truncated || overrun,
        begun: errors[0] ?? null,
        error: overrun ? null : (errors.find((each) => each !== null) ?? null),
      });
    };
    const query = new CappedQuery<Row>(statement, caps, done(1));
    socket.allowance = caps.maxBytes + OVERHEAD_BYTES;
    socket.cork(); // one packet
    client.query({ text: begin }, done(0));
    client.query(query);
    client.query({ text: 'commit' }, done(2));
    socket.uncork();
  });
}
