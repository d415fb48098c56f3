/**
 * The port between the executor and a way of talking (architecture §4, §5). `resilience` declares it, `connectors`
 * implements it; nothing here knows PostgreSQL, HTTP or MCP.
 */

/** Whose credentials a call uses at the source. Opaque here: `key` tells accounts apart, `secret` is for the connector. */
export interface Account {
  readonly key: string;
  readonly secret: unknown;
}

/** What a caller of `ResilientExecutor.run` may say about one call. */
export interface RunOptions {
  /** The caller's own cancellation: disconnect, `notifications/cancelled`, shutdown. */
  readonly signal: AbortSignal;
  /** Instant of the executor's clock, in milliseconds, at which the caller wants an answer of any kind. */
  readonly deadline?: number;
  readonly account?: Account;
  /** Told once, when the operation really begins to use the source. */
  readonly touched?: () => void;
}

/**
 * The two signals of law 4. `signal`: stop politely (cancel the statement). `kill`: destroy the resource, its socket
 * also when it is still connecting.
 */
export interface ConnectorRunOptions {
  readonly signal: AbortSignal;
  readonly kill: AbortSignal;
  readonly account?: Account;
}

/** One use of a leased resource (a database lease, an HTTP client). */
export type Operation<R, T> = (resource: R, signal: AbortSignal) => Promise<T>;

/**
 * Law 6. `infrastructure`: the source failed. `answered`: it is alive but could not serve this call. `rejected`: our
 * request is wrong. `bug`: a programming error of ours.
 */
export type FailureKind = 'infrastructure' | 'answered' | 'rejected' | 'bug';

/** What a connector makes of an error that its `run` threw. */
export interface Failure {
  readonly kind: FailureKind;
  /** The failure happened before the source had accepted a connection (law 7: health alone may close such a circuit). */
  readonly connecting?: boolean;
  /** Seconds after which the source said it may be asked again. */
  readonly retryAfterSeconds?: number;
  /** The source asked us to slow down (HTTP 429): its token bucket pauses and the call ends as `rate_limited`. */
  readonly throttled?: boolean;
}

export interface Connector<R> {
  readonly name: string;
  /** Warms up. `run` works before and after it, so "not connected" is not a state. Rejects when the source is down. */
  connect(signal: AbortSignal): Promise<void>;
  /** Destroys what is left. Idempotent; never rejects because something was already gone. */
  close(): Promise<void>;
  /** Cheap real check of the source. Never rejects: an error is `false`. */
  health(signal: AbortSignal): Promise<boolean>;
  /** Settles only when its resource is back or its socket has closed (law 4). */
  run<T>(operation: Operation<R, T>, options: ConnectorRunOptions): Promise<T>;
  classify(error: unknown): Failure;
  /** Figures for /diagnostics; keys as in the reference (spec §2.3). */
  stats?(): Readonly<Record<string, number>>;
}
