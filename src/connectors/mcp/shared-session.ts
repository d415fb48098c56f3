import { bounded } from '../bounded.js';
import { type UpstreamEndpoint } from './endpoint.js';
import { UpstreamCancelledError, UpstreamConnectError, UpstreamError } from './mcp-errors.js';
import { type SessionPoolOptions } from './session-options.js';
import { type ToolCall, type ToolOutcome } from './tool-call.js';
import { digestOf } from './tool-definition.js';
import { type UpstreamSession } from './upstream-session.js';

export interface SharedSessionEvents {
  /** It gets no new calls. */
  retired(session: SharedSession): void;
  /** Nothing of it is left. */
  gone(session: SharedSession): void;
}

interface Listing {
  /** Instant of the clock. */
  readonly at: number;
  /** Of the connections over which it came. */
  readonly generation: number | undefined;
  readonly digests: ReadonlyMap<string, string>;
}

/** How long an upstream that has left a call unanswered may take to say that it lives. Milliseconds. */
const SIGN_OF_LIFE_MS = 2_000;

/**
 * One session and the calls that share it. Law (decision 0009): what a call holds is a lease. Ending a call gives its lease
 * back and touches nothing else; only the session's own end, or the end of its last lease after it was retired, closes it.
 */
export class SharedSession {
  leases = 0;
  #retired = false;
  #session: UpstreamSession | undefined;
  readonly #opening: Promise<UpstreamSession>;
  readonly #openingEnds = new AbortController();
  #listing: Listing | undefined;
  #looking: Promise<Listing> | undefined;
  #checking = false;
  #cancelIdle: () => void = () => undefined;
  #ended: Promise<void> | undefined;

  constructor(
    readonly account: string,
    private readonly credential: string,
    private readonly options: SessionPoolOptions,
    private readonly events: SharedSessionEvents,
  ) {
    this.#opening = this.#open(options.endpoint);
    this.#opening.catch(() => undefined);
  }

  /** New calls may begin on it. */
  get isUsable(): boolean {
    return !this.#retired && (this.#session === undefined || this.#session.isOpen);
  }

  take(): void {
    this.leases += 1;
    this.#cancelIdle();
  }

  release(): void {
    this.leases -= 1;
    if (this.leases > 0) return;
    // Nobody waits for a session that is still being opened.
    if (this.#session === undefined) this.#openingEnds.abort();
    if (this.#retired) void this.destroy();
    else this.#cancelIdle = this.options.clock.after(this.options.idleMs, () => this.retire());
  }

  /** Resolves when the session is open; rejects with the reason why not, or when the caller has left. */
  async ready(signal: AbortSignal): Promise<void> {
    await unlessAborted(this.#opening, signal);
  }

  /** Gets no new calls any more; closed as soon as it carries none. */
  retire(): void {
    if (!this.#retired) {
      this.#retired = true;
      this.events.retired(this);
    }
    this.#cancelIdle();
    if (this.leases === 0) void this.destroy();
  }

  /** Closed at once, whatever it carries. Never rejects. */
  destroy(): Promise<void> {
    return (this.#ended ??= this.#end());
  }

  /** `credential` is that of the very call: with it, and not with an older one, the request travels. */
  async call(tool: ToolCall, credential: string, signal: AbortSignal): Promise<ToolOutcome> {
    const session = await this.#opening;
    if (tool.pin !== undefined && (await this.#digestOf(tool.name, credential, signal)) !== tool.pin)
      return { kind: 'changed' };
    try {
      return { kind: 'result', result: await session.call(tool, credential, signal) };
    } catch (error) {
      if (error instanceof UpstreamCancelledError) void this.#check(session);
      if (isForgotten(error)) {
        this.options.endpoint.forget();
        this.retire();
      }
      throw error;
    }
  }

  async #open(endpoint: UpstreamEndpoint): Promise<UpstreamSession> {
    const { clock, openMs } = this.options;
    try {
      const session = await bounded((signal) => endpoint.open(this.credential, signal), {
        ...{ clock, limitMs: openMs, signal: this.#openingEnds.signal },
      });
      this.#session = session;
      session.onclose = () => this.retire();
      session.ontoolschanged = () => (this.#listing = undefined);
      return session;
    } catch (error) {
      this.retire();
      throw error instanceof UpstreamError || isHttpError(error) ? error : new UpstreamConnectError('TIMEOUT');
    }
  }

  async #end(): Promise<void> {
    this.#retired = true;
    this.events.retired(this);
    this.#openingEnds.abort();
    const session = await this.#opening.catch(() => undefined);
    await session?.close();
    this.events.gone(this);
  }

  async #digestOf(name: string, credential: string, signal: AbortSignal): Promise<string | undefined> {
    const { clock, verifyMs } = this.options;
    const known = this.#listing;
    const fresh =
      known?.generation !== undefined &&
      known.generation === this.#session?.generation &&
      clock.now() - known.at < verifyMs;
    const { digests } = fresh ? known : await unlessAborted(this.#look(credential), signal);
    return digests.get(name);
  }

  /** One look for all that wait; whoever of them leaves does not take it from the others. */
  #look(credential: string): Promise<Listing> {
    this.#looking ??= this.#list(credential).finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  async #list(credential: string): Promise<Listing> {
    const { clock, openMs } = this.options;
    const session = await this.#opening;
    const at = clock.now();
    const before = session.generation;
    const tools = await bounded((signal) => session.tools(credential, signal), { clock, limitMs: openMs }).catch(
      (error: unknown) => {
        throw error instanceof UpstreamError || isHttpError(error) ? error : new UpstreamConnectError('TIMEOUT');
      },
    );
    // A connection that was opened meanwhile may lead elsewhere; the very first one leads where the list came from.
    const generation = before ?? session.generation;
    this.#listing = { at, generation, digests: new Map(tools.map((tool) => [tool.name, digestOf(tool)])) };
    return this.#listing;
  }

  /** A call was left unanswered. A session that does not even say that it lives gets no more of them. */
  async #check(session: UpstreamSession): Promise<void> {
    if (this.#checking || this.#retired) return;
    this.#checking = true;
    const alive = await bounded((signal) => session.answers(signal), {
      ...{ clock: this.options.clock, limitMs: SIGN_OF_LIFE_MS },
    }).catch(() => false);
    this.#checking = false;
    if (!alive) this.retire();
  }
}

/** The upstream has lost the session, or speaks another revision than it did: the next call begins anew. */
function isForgotten(error: unknown): boolean {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return code === 'HTTP_404' || code === 'HTTP_400' || code === 'RPC_-32022';
}

const isHttpError = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'failure' in error && 'code' in error;

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(new UpstreamCancelledError());
    const leave = (): void => reject(new UpstreamCancelledError());
    signal.addEventListener('abort', leave);
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}
