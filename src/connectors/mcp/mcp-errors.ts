import { type Failure } from '../../resilience/connector.js';

/**
 * How a call of an upstream can end without a result. None of them keeps what the upstream or the SDK said: those texts may
 * repeat arguments, URLs or credentials. A code is enough to understand each of them in a log.
 */
export abstract class UpstreamError extends Error {
  constructor(
    message: string,
    /** `CONNECTION_CLOSED`, `SPAWN_ENOENT`, `RPC_-32602`, … */
    readonly code: string,
  ) {
    super(message);
    this.name = new.target.name;
  }

  /** Law 6. */
  abstract readonly failure: Failure;
}

/** No session could be opened. Nothing of the call was sent. */
export class UpstreamConnectError extends UpstreamError {
  readonly failure: Failure = { kind: 'infrastructure', connecting: true };

  constructor(code: string) {
    super(`no session with the upstream: ${code}`, code);
  }
}

/** The session, or the exchange of this one call, ended before the answer. Whether the call ran is not known. */
export class UpstreamLostError extends UpstreamError {
  readonly failure: Failure = { kind: 'infrastructure' };

  constructor(code: string) {
    super(`the upstream ended the exchange: ${code}`, code);
  }
}

/** The upstream is alive and could not serve this call. */
export class UpstreamUnansweredError extends UpstreamError {
  readonly failure: Failure = { kind: 'answered' };

  constructor(code: string) {
    super(`the upstream did not serve the call: ${code}`, code);
  }
}

/** The upstream refused our request. */
export class UpstreamRejectedError extends UpstreamError {
  readonly failure: Failure = { kind: 'rejected' };

  constructor(code: string) {
    super(`the upstream refused the request: ${code}`, code);
  }
}

/** The credential of a governance account was refused, or cannot be sent: that account's fault and nobody else's (law 6). */
export class UpstreamAccountRefusedError extends UpstreamError {
  readonly failure: Failure = { kind: 'rejected' };

  constructor() {
    super('the credential of an account was refused', 'ACCOUNT_REFUSED');
  }
}

/** Ended by us: cancelled, killed or closed. Only its slot cares, its caller has been answered. */
export class UpstreamCancelledError extends UpstreamError {
  readonly failure: Failure = { kind: 'infrastructure' };

  constructor() {
    super('the call was cancelled', 'CANCELLED');
  }
}

/** A list of tools that cannot be understood: not a list, without an end, with one name twice. */
export class UnintelligibleListError extends UpstreamError {
  readonly failure: Failure = { kind: 'answered' };

  constructor(code: string) {
    super(`the upstream's list of tools cannot be understood: ${code}`, code);
  }
}
