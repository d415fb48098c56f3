import { type Failure } from '../../resilience/connector.js';

/**
 * What can go wrong between us and PostgreSQL besides an error that the server reports (that one is pg's DatabaseError,
 * see sqlstate.ts). Each knows what it is (law 6). The driver's error stays in `cause`, for the log, which redacts it.
 */
export abstract class PostgresError extends Error {
  abstract readonly failure: Failure;

  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
  }
}

/** No usable connection came about: unreachable, refused, no TLS, wrong password, too many clients. */
export class ConnectFailedError extends PostgresError {
  readonly failure: Failure = { kind: 'infrastructure', connecting: true };
  constructor(cause: unknown) {
    super('no connection to PostgreSQL', cause);
  }
}

/** The login of a governance account was refused, or its secret is none: the account's fault and nobody else's (law 6). */
export class AccountRefusedError extends PostgresError {
  readonly failure: Failure = { kind: 'rejected' };
  constructor(cause?: unknown) {
    super('the login of an account was refused', cause);
  }
}

/** The connection ended under a statement. */
export class ConnectionLostError extends PostgresError {
  readonly failure: Failure = { kind: 'infrastructure' };
  constructor(cause: unknown) {
    super('the connection to PostgreSQL was lost', cause);
  }
}

/** The connection was destroyed by `kill`: it had not come back when the grace was over. */
export class ConnectionKilledError extends PostgresError {
  readonly failure: Failure;
  constructor(connecting: boolean) {
    super('the connection to PostgreSQL was destroyed');
    this.failure = { kind: 'infrastructure', connecting };
  }
}

/** `close()` was called: nothing is begun any more. */
export class ConnectorClosedError extends PostgresError {
  readonly failure: Failure = { kind: 'infrastructure', connecting: true };
  constructor() {
    super('the connector is closed');
  }
}

/** Not even the first row fits into the cap. */
export class AnswerTooLargeError extends PostgresError {
  readonly failure: Failure = { kind: 'rejected' };
  constructor() {
    super('a row of the answer is larger than is allowed');
  }
}

/** The server answered what must not be believed: not the columns or values that were agreed on. */
export class UnusableAnswerError extends PostgresError {
  readonly failure: Failure = { kind: 'answered' };
  constructor(cause?: unknown) {
    super('the answer of PostgreSQL is unusable', cause);
  }
}

/** A lease was used against its rules: after its end, twice at once, or with a parameter of no exact SQL form. */
export class LeaseMisuseError extends PostgresError {
  readonly failure: Failure = { kind: 'bug' };
}
