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
import { HttpError } from '../http/http-errors.js';
import { type UpstreamEndpoint } from './endpoint.js';
import {
  UpstreamAccountRefusedError,
  UpstreamCancelledError,
  UpstreamConnectError,
  UpstreamError,
} from './mcp-errors.js';
import { type SessionPoolOptions } from './session-options.js';
import { SessionPool } from './session-pool.js';
import { type ToolCall, type ToolOutcome, type UpstreamLease } from './tool-call.js';

export interface McpConnectorOptions extends Omit<SessionPoolOptions, 'source' | 'clock'> {
  /** The upstream's id. */
  readonly name: string;
  /** `mcp_corp.connectors`. */
  readonly log: EventLog;
  readonly clock?: Clock;
}

/**
 * Talks to one upstream MCP server. Its resource is a lease on a session that is shared (decision 0009): `kill` ends that one
 * request, never its neighbours. A call is sent once; what is not known to have run is not tried again.
 */
export class McpConnector implements Connector<UpstreamLease> {
  readonly name: string;
  readonly #endpoint: UpstreamEndpoint;
  readonly #pool: SessionPool;
  readonly #cooldown: AccountCooldown;
  readonly #log: EventLog;

  constructor({ name, log, clock = systemClock, ...pool }: McpConnectorOptions) {
    this.name = name;
    this.#log = log;
    this.#endpoint = pool.endpoint;
    this.#cooldown = new AccountCooldown(name, clock);
    this.#pool = new SessionPool({ ...pool, clock, source: name });
  }

  /** Looks whether it is there. Sessions need a credential, and are opened by the calls that bring one. */
  async connect(signal: AbortSignal): Promise<void> {
    if (!(await this.#endpoint.reachable(signal))) throw new UpstreamConnectError('UNREACHABLE');
  }

  health(signal: AbortSignal): Promise<boolean> {
    return this.#endpoint.reachable(signal);
  }

  async close(): Promise<void> {
    await this.#pool.close();
    this.#endpoint.close();
  }

  stats(): Readonly<Record<string, number>> {
    return { sessions: this.#pool.open, sessions_in_use: this.#pool.inUse };
  }

  /** Of accounts for which `keep` says no, nothing is kept. */
  retain(keep: (account: string) => boolean): void {
    this.#pool.retain(keep);
  }

  async run<T>(operation: Operation<UpstreamLease, T>, { signal, kill, account }: ConnectorRunOptions): Promise<T> {
    if (signal.aborted || kill.aborted) throw new UpstreamCancelledError();
    // Without an account there is no identity to act with: an upstream has no credentials of the source's own.
    if (account === undefined) throw new Error('an upstream is called with an account');
    this.#cooldown.check(account);
    let refuse = (): void => undefined;
    const killed = new Promise<never>((_resolve, reject) => (refuse = () => reject(new UpstreamCancelledError())));
    killed.catch(() => undefined);
    kill.addEventListener('abort', refuse);
    try {
      return await this.#use(account, operation, signal, killed);
    } catch (error) {
      if (error instanceof UpstreamAccountRefusedError) {
        this.#cooldown.refused(account);
        this.#log.warning('connector_account_refused', { source: this.name, account: account.key });
      }
      throw error;
    } finally {
      kill.removeEventListener('abort', refuse);
    }
  }

  classify(error: unknown): Failure {
    return error instanceof UpstreamError || error instanceof HttpError ? error.failure : { kind: 'bug' };
  }

  async #use<T>(
    account: Account,
    operation: Operation<UpstreamLease, T>,
    signal: AbortSignal,
    killed: Promise<never>,
  ): Promise<T> {
    const { secret } = accountSecretOf(account);
    const session = await this.#pool.acquire(account, signal);
    const ends = new AbortController();
    const leave = (): void => ends.abort();
    signal.addEventListener('abort', leave);
    let over = false;
    const lease: UpstreamLease = {
      call: async (tool: ToolCall, caller: AbortSignal): Promise<ToolOutcome> => {
        if (over || caller.aborted) throw new UpstreamCancelledError();
        return session.call(tool, secret, ends.signal);
      },
    };
    try {
      if (signal.aborted) throw new UpstreamCancelledError();
      return await Promise.race([operation(lease, signal), killed]);
    } finally {
      over = true;
      // What the operation has left behind ends here, and nothing else on the session.
      ends.abort();
      signal.removeEventListener('abort', leave);
      session.release();
    }
  }
}
