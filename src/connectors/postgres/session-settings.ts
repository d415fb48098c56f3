/**
 * What each read sends before its statement. Everything is `set local`: it ends with the transaction, so it also holds
 * behind PgBouncer in transaction mode, where the next statement may meet another session.
 *
 * - `statement_timeout` ends a statement whose cancel never arrived: no orphan outlives the call by more than the grace.
 * - `client_connection_check_interval` lets the server notice a destroyed socket while the statement runs.
 * - The rest fixes the text form of dates, times, intervals and floats that value-parsers.ts relies on.
 */
export class SessionSettings {
  readonly #always: string;
  #begin: string;

  /** `statementTimeoutMs`: the longest time that a call may have left when its statement begins, and the grace. */
  constructor(statementTimeoutMs: number) {
    this.#always = [
      'begin read only',
      `set local statement_timeout = ${Math.ceil(statementTimeoutMs)}`,
      "set local datestyle = 'ISO, YMD'",
      "set local timezone = 'UTC'",
      "set local intervalstyle = 'iso_8601'",
      'set local extra_float_digits = 1',
    ].join('; ');
    this.#begin = `${this.#always}; set local client_connection_check_interval = 1000`;
  }

  get begin(): string {
    return this.#begin;
  }

  get checksConnection(): boolean {
    return this.#begin !== this.#always;
  }

  /**
   * The server is older than 14, or runs where it cannot watch a socket (Windows). It said so itself: the version that a
   * pooler reports need not be that of the server behind it.
   */
  leaveConnectionUnchecked(): void {
    this.#begin = this.#always;
  }
}
