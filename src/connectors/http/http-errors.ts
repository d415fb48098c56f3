import { type Failure } from '../../resilience/connector.js';

/**
 * What an HTTP exchange can end with. None of them keeps the library's error: that one holds the URL, and so the
 * identifier, and the credentials (spec §11: A2, A3). A code is enough to understand each of them in a log.
 */
export abstract class HttpError extends Error {
  constructor(message: string) {
    super(message);
    this.name = new.target.name;
  }

  /** For logs and /diagnostics: `ECONNREFUSED`, `HTTP_503`, `NOT_JSON`, … */
  abstract readonly code: string;

  /** Law 6. */
  abstract get failure(): Failure;
}

/** How long a 429 is obeyed, in seconds: without a `Retry-After`, and at most (architecture §5). */
const THROTTLE_DEFAULT = 1;
const THROTTLE_CAP = 30;
/** Longest `Retry-After` of a source that is down which callers are told, in seconds. */
const OUTAGE_CAP = 3600;

const REQUEST_TIMEOUT = 408;
const TOO_MANY_REQUESTS = 429;
const SERVICE_UNAVAILABLE = 503;

/** The source answered with a status that is neither success nor "not found". */
export class HttpStatusError extends HttpError {
  readonly code: string;

  constructor(
    readonly status: number,
    /** What the answer's `Retry-After` says; `undefined` when it says nothing usable. */
    readonly retryAfterSeconds?: number,
  ) {
    super(`the source answered with status ${status}`);
    this.code = `HTTP_${status}`;
  }

  get failure(): Failure {
    const { status, retryAfterSeconds } = this;
    if (status === TOO_MANY_REQUESTS) {
      const pause = Math.min(retryAfterSeconds ?? THROTTLE_DEFAULT, THROTTLE_CAP);
      return { kind: 'answered', throttled: true, retryAfterSeconds: pause };
    }
    if (status === SERVICE_UNAVAILABLE && retryAfterSeconds !== undefined) {
      return { kind: 'infrastructure', retryAfterSeconds: Math.min(retryAfterSeconds, OUTAGE_CAP) };
    }
    return { kind: status >= 500 || status === REQUEST_TIMEOUT ? 'infrastructure' : 'rejected' };
  }
}

/** The credential of a governance account was refused, or cannot be sent: the account's fault and nobody else's (law 6). */
export class AccountRefusedError extends HttpError {
  readonly code = 'ACCOUNT_REFUSED';

  constructor() {
    super('the credential of an account was refused');
  }

  get failure(): Failure {
    return { kind: 'rejected' };
  }
}

/** No complete answer: refused, reset, look-up or TLS failure, protocol error, timeout of the transport. */
export class HttpTransportError extends HttpError {
  constructor(
    /** As Node says it: `ECONNREFUSED`, `CERT_HAS_EXPIRED`, `HPE_INVALID_CONSTANT`, … */
    readonly code: string,
    /** True until the connection, TLS included, was usable (law 7). */
    readonly connecting: boolean,
  ) {
    super(`no answer from the source: ${code}`);
  }

  get failure(): Failure {
    return { kind: 'infrastructure', connecting: this.connecting };
  }
}

/** The exchange was ended by us: cancelled, killed or closed. Only its slot cares, its caller has been answered. */
export class HttpCancelledError extends HttpError {
  readonly code = 'CANCELLED';

  constructor() {
    super('the exchange was cancelled');
  }

  get failure(): Failure {
    return { kind: 'infrastructure' };
  }
}

export type BodyDefect = 'TOO_LARGE' | 'NOT_UTF8' | 'NOT_JSON' | 'SCHEMA' | 'FOREIGN_SUBJECT';

/**
 * An answer that must not be believed (spec §11: B10, F1). `SCHEMA`: not the fields that were agreed on.
 * `FOREIGN_SUBJECT`: about somebody else than the one asked for.
 */
export class MalformedBodyError extends HttpError {
  constructor(readonly code: BodyDefect) {
    super(`the body of the answer is unusable: ${code}`);
  }

  get failure(): Failure {
    return { kind: 'infrastructure' };
  }
}
