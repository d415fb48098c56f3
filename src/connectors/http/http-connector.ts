import { type EventLog } from '../../logging/event-log.js';
import { type Clock, systemClock } from '../../resilience/clock.js';
import {
  type Account,
  type Connector,
  type ConnectorRunOptions,
  type Failure,
  type Operation,
} from '../../resilience/connector.js';
import { AccountCooldown } from '../account-cooldown.js';
import { accountSecretOf } from '../account-secret.js';
import { HEALTH_LIMIT_MS } from '../health-check.js';
import { secretTold } from '../secret-told.js';
import { SourceResolver } from '../source-resolver.js';
import { AccountRefusedError, HttpCancelledError, HttpError, HttpStatusError } from './http-errors.js';
import { HttpExchange } from './http-exchange.js';
import { type HttpSourceSettings, type RotatingHeaders } from './http-source-settings.js';
import { HttpTarget } from './http-target.js';
import { HttpTransport } from './http-transport.js';

export interface HttpConnectorOptions {
  readonly name: string;
  readonly settings: HttpSourceSettings;
  /** `mcp_corp.connectors`. */
  readonly log: EventLog;
  readonly resolver?: SourceResolver;
  readonly clock?: Clock;
  /** Wall-clock time in milliseconds, for the date form of `Retry-After`. */
  readonly wallClock?: () => number;
}

/** A check of the source beside the operations that hold a slot: health for /diagnostics. */
const BESIDE_THE_SLOTS = 1;

const HEALTH = ['health'];
const UNAUTHORIZED = 401;

/**
 * Talks to an HTTP API (architecture §5; spec §4.2, with its defects A2, A3, B9, B10, F1, F7, F8 mended). Neither a URL
 * nor a header nor a body is ever logged, nor part of an error.
 */
export class HttpConnector implements Connector<HttpExchange> {
  readonly name: string;
  readonly #log: EventLog;
  readonly #target: HttpTarget;
  readonly #transport: HttpTransport;
  readonly #settings: HttpSourceSettings;
  readonly #cooldown: AccountCooldown;
  readonly #timeoutMs: number | undefined;
  readonly #healthTimeoutMs: number;
  readonly #rotating: RotatingHeaders | undefined;
  #closed = false;

  constructor({ name, settings, log, resolver, clock, wallClock }: HttpConnectorOptions) {
    this.name = name;
    this.#log = log;
    this.#settings = settings;
    this.#cooldown = new AccountCooldown(name, clock ?? systemClock);
    this.#target = new HttpTarget(settings.baseUrl ?? '');
    this.#timeoutMs = settings.requestTimeoutMs();
    // Its own limit: at start nobody else's is near, and a source that says nothing would hold /ready for all of it.
    this.#healthTimeoutMs = Math.min(HEALTH_LIMIT_MS, this.#timeoutMs ?? 1000 * settings.operationTimeoutSeconds);
    this.#rotating = settings.rotatingCredentials(secretTold(name, log));
    this.#transport = new HttpTransport({
      secure: this.#target.secure,
      maxSockets: settings.maxConcurrency + BESIDE_THE_SLOTS,
      maxResponseBytes: settings.maxResponseBytes,
      headers: settings.credentials(),
      tls: settings.tls(),
      lookup: (resolver ?? new SourceResolver({ clock })).lookup,
      clock: clock ?? systemClock,
      wallClock: wallClock ?? Date.now,
    });
  }

  /** Opens the first connection. Rejects with an HttpError unless the source answers its health check with 200 in time. */
  async connect(signal: AbortSignal): Promise<void> {
    const status = await this.#ask(signal);
    if (status !== 200) throw new HttpStatusError(status);
    this.#log.info('connector_http_client_opened', { source: this.name });
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#transport.close();
    this.#log.info('connector_http_client_closed', { source: this.name });
  }

  /** `GET /health` under the base URL; only status 200 is healthy. In 3 s, or in the time of an operation if that is less. */
  async health(signal: AbortSignal): Promise<boolean> {
    try {
      const status = await this.#ask(signal);
      if (status === 200) return true;
      this.#unhealthy(new HttpStatusError(status));
    } catch (error) {
      this.#unhealthy(error);
    }
    return false;
  }

  run<T>(operation: Operation<HttpExchange, T>, options: ConnectorRunOptions): Promise<T> {
    return this.#lend(operation, options, this.#timeoutMs);
  }

  classify(error: unknown): Failure {
    return error instanceof HttpError ? error.failure : { kind: 'bug' };
  }

  async #lend<T>(
    operation: Operation<HttpExchange, T>,
    options: ConnectorRunOptions,
    timeoutMs: number | undefined,
  ): Promise<T> {
    const { signal, kill, account } = options;
    if (signal.aborted || kill.aborted) throw new HttpCancelledError();
    if (account !== undefined) this.#cooldown.check(account);
    const credentials = account === undefined ? this.#rotating : undefined;
    const headers = account === undefined ? {} : this.#credentialsOf(account);
    const exchange = new HttpExchange(this.#transport, this.#target, timeoutMs, headers, credentials);
    // HTTP/1.1 has no polite way to stop but closing the connection, so both signals end the request.
    const abort = (): void => exchange.abort();
    let refuse = abort;
    const killed = new Promise<never>((_resolve, reject) => {
      refuse = () => reject(new HttpCancelledError());
    });
    signal.addEventListener('abort', abort);
    kill.addEventListener('abort', refuse);
    try {
      // After the kill nobody waits for an operation that goes on without its exchange.
      return await Promise.race([operation(exchange, signal), killed]);
    } catch (error) {
      const refused = account !== undefined && error instanceof HttpStatusError && error.status === UNAUTHORIZED;
      throw refused ? this.#refused(account) : error;
    } finally {
      signal.removeEventListener('abort', abort);
      kill.removeEventListener('abort', refuse);
      await exchange.end();
    }
  }

  #credentialsOf(account: Account): Readonly<Record<string, string>> {
    const { secret } = accountSecretOf(account);
    // What no header can carry would be an error of Node's with the value in it.
    if (!/^[\x20-\x7e]+$/.test(secret)) throw this.#refused(account);
    return this.#settings.credentialsOf(secret);
  }

  #refused(account: Account): AccountRefusedError {
    this.#cooldown.refused(account);
    this.#log.warning('connector_account_refused', { source: this.name, account: account.key });
    return new AccountRefusedError();
  }

  #ask(signal: AbortSignal): Promise<number> {
    return this.#lend((exchange) => exchange.getStatus(HEALTH), { signal, kill: signal }, this.#healthTimeoutMs);
  }

  #unhealthy(error: unknown): void {
    // Of anything else not even the name is known to be harmless.
    const { name, code } = error instanceof HttpError ? error : { name: 'Error', code: undefined };
    this.#log.warning('connector_health_check_failed', { source: this.name, error: name, code });
  }
}
