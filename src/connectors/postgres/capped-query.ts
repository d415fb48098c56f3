import { type DriverConnection, type DriverRow, ExtendedQuery } from './driver.js';

export interface ReadCaps {
  readonly maxRows: number;
  /** Of the rows as they come over the wire. */
  readonly maxBytes: number;
}

/**
 * One statement whose answer is capped while it arrives, and that knows whether it was cut. Rows: the server is asked
 * for one row more than allowed and stops by itself, whatever the SQL says; that one row tells a cut from a fit. (It also
 * keeps the server from running the statement in parallel workers: business reads are small.) Bytes: the row that
 * would exceed the cap is dropped before its values are parsed, and so is everything behind it.
 */
export class CappedQuery<Row> extends ExtendedQuery<Row> {
  truncated = false;
  #bytes = 0;

  constructor(
    statement: { readonly sql: string; readonly parameters: readonly unknown[] },
    private readonly caps: ReadCaps,
    done: (error: Error | null) => void,
  ) {
    super({ text: statement.sql, values: statement.parameters, queryMode: 'extended' }, done);
  }

  get kept(): readonly Row[] {
    return this._result.rows;
  }

  override handleDataRow(row: DriverRow): void {
    if (this.truncated) return;
    this.#bytes += row.length;
    if (this.kept.length >= this.caps.maxRows || this.#bytes > this.caps.maxBytes) this.truncated = true;
    else super.handleDataRow(row);
  }

  // The three below are called by pg; its types do not know them.

  /** Asks for the rows. `Sync` closes the exchange, so nothing is left open when the limit is reached. */
  _getRows(connection: DriverConnection): void {
    connection.execute({ portal: '', rows: this.caps.maxRows + 1 });
    connection.sync();
  }

  /** The limit was reached: the row too many has been seen already. pg would ask for the next page here. */
  handlePortalSuspended(): void {}
}
