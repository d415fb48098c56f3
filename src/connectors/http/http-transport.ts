import axios, { type AxiosInstance, isAxiosError } from 'axios';
import { type Agent } from 'node:http';
import { type Clock } from '../../resilience/clock.js';
import { HttpAttempt } from './http-attempt.js';
import { HttpCancelledError, HttpStatusError, HttpTransportError, MalformedBodyError } from './http-errors.js';
import { dropIdle, keepAliveAgent, type KeepAliveOptions } from './keep-alive-agent.js';
import { retryAfterSeconds } from './retry-after.js';

/** How long the body of an answer that is not a success is waited for, to be able to use its connection again. Milliseconds. */
const UNWANTED_BODY_MS = 500;

export interface HttpTransportOptions extends KeepAliveOptions {
  /** Largest body of an answer, in bytes. */
  readonly maxResponseBytes: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** Wall-clock time in milliseconds, for the date form of `Retry-After`. */
  readonly wallClock: () => number;
}

/** What is asked, and who asks. */
export interface HttpQuestion {
  /** Absolute URL. */
  readonly url: string;
  /** Longest time of one attempt, in milliseconds; `undefined`: only the one who asks ends it. */
  readonly timeoutMs?: number;
  /** Instead of the source's own of the same name. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Told each attempt as it begins, to be able to destroy it. */
  readonly onAttempt: (attempt: HttpAttempt) => void;
}

/** `body` only with a success. */
export type HttpAnswer =
  { readonly status: number; readonly body: Buffer } | { readonly status: 404; readonly body: undefined };

/** The one failure that is tried again: the connection, not the source, was at fault. */
class StaleConnectionError extends HttpTransportError {}

/**
 * GET requests over one keep-alive agent. A request is over only when its socket is closed or back in the agent, so
 * whoever awaits `get` keeps his slot exactly as long as the source has a request of his (law 4).
 */
export class HttpTransport {
  readonly #axios: AxiosInstance;
  readonly #agent: Agent;
  readonly #live = new Set<HttpAttempt>();
  #closed = false;

  constructor(private readonly options: HttpTransportOptions) {
    this.#agent = keepAliveAgent(options);
    this.#axios = axios.create({
      adapter: 'http',
      httpAgent: this.#agent,
      httpsAgent: this.#agent,
      // Never the proxy variables of the environment: they would send identifiers to whoever set them (spec §11: F7).
      proxy: false,
      maxRedirects: 0,
      responseType: 'arraybuffer',
      // What counts is what the source sends: nothing is inflated.
      decompress: false,
      maxContentLength: options.maxResponseBytes,
      validateStatus: null,
      headers: {
        Accept: 'application/json',
        'Accept-Encoding': 'identity',
        'User-Agent': 'mcp-corp',
        ...options.headers,
      },
    });
  }

  /**
   * The answer when it is a success (2xx) or "not found" (404). Throws HttpStatusError for every other status,
   * HttpTransportError, MalformedBodyError (`TOO_LARGE`) or HttpCancelledError.
   */
  async get(question: HttpQuestion): Promise<HttpAnswer> {
    try {
      return await this.#attempt(question);
    } catch (error) {
      if (!(error instanceof StaleConnectionError)) throw error;
      // Whatever closed this idle connection has closed its neighbours too; the one retry must not meet another of them.
      dropIdle(this.#agent);
      return this.#attempt(question);
    }
  }

  /** Destroys every request and every connection; settles when the requests have ended. */
  async close(): Promise<void> {
    this.#closed = true;
    const live = [...this.#live];
    for (const attempt of live) attempt.destroy('cancelled');
    await Promise.all(live.map((attempt) => attempt.closed));
    this.#agent.destroy();
  }

  async #attempt({ url, timeoutMs, headers, onAttempt }: HttpQuestion): Promise<HttpAnswer> {
    if (this.#closed) throw new HttpCancelledError();
    const { secure, clock } = this.options;
    const appointments: (() => void)[] = [];
    const attempt = new HttpAttempt(secure, () => {
      if (!isSuccess(attempt)) appointments.push(clock.after(UNWANTED_BODY_MS, () => attempt.destroy('unwanted')));
    });
    if (timeoutMs !== undefined) appointments.push(clock.after(timeoutMs, () => attempt.destroy('timeout')));
    this.#live.add(attempt);
    try {
      onAttempt(attempt);
      return this.#judge(attempt, await this.#send(url, headers, attempt));
    } finally {
      for (const cancel of appointments) cancel();
      this.#live.delete(attempt);
    }
  }

  /** The whole body, if there is one. Settles only with the socket. */
  async #send(url: string, headers: HttpQuestion['headers'], attempt: HttpAttempt): Promise<Buffer | undefined> {
    const sent = this.#axios.get<Buffer>(url, { transport: attempt.transport, headers }).then(
      ({ data }) => data,
      // The error itself is dropped: it holds the URL and the headers. The attempt knows what may be told.
      (error: unknown) => {
        attempt.givenUp(isAxiosError(error) ? error.code : undefined);
        return undefined;
      },
    );
    await attempt.closed;
    // axios settles in the turn of the close, or never: it is not told when a 101 makes Node destroy the socket.
    return Promise.race([sent, nextTurn()]);
  }

  #judge(attempt: HttpAttempt, body: Buffer | undefined): HttpAnswer {
    const { head, ended, connecting } = attempt;
    if (ended === 'cancelled') throw new HttpCancelledError();
    if (head?.status === 404) return { status: 404, body: undefined };
    if (head && !isSuccess(attempt)) {
      throw new HttpStatusError(head.status, retryAfterSeconds(head.retryAfter, this.options.wallClock()));
    }
    if (ended === 'timeout') throw new HttpTransportError('ETIMEDOUT', connecting);
    if (head && body) return { status: head.status, body };
    if (attempt.bodyBytes > this.options.maxResponseBytes) throw new MalformedBodyError('TOO_LARGE');
    const code = attempt.code ?? 'ECONNRESET';
    throw attempt.foundStale ? new StaleConnectionError(code, false) : new HttpTransportError(code, connecting);
  }
}

function isSuccess({ head }: HttpAttempt): boolean {
  return head !== undefined && head.status >= 200 && head.status < 300;
}

const nextTurn = (): Promise<undefined> => new Promise((resolve) => setImmediate(resolve, undefined));
