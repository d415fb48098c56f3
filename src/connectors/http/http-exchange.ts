import { callContext } from '../../logging/call-context.js';
import { parseLossless } from '../lossless-json.js';
import { type HttpAttempt } from './http-attempt.js';
import { HttpCancelledError, HttpStatusError, MalformedBodyError } from './http-errors.js';
import { type RotatingHeaders } from './http-source-settings.js';
import { type HttpTarget } from './http-target.js';
import { type HttpAnswer, type HttpTransport } from './http-transport.js';

const UNAUTHORIZED = 401;
/** How long requests share one look at the file of a credential, milliseconds. */
const CREDENTIALS_AGE_MS = 1_000;

export interface JsonAnswer {
  /** A success (2xx), or 404: absence is for the source to understand. */
  readonly status: number;
  /** Parsed, unchecked; numbers that a double cannot hold are their text. `undefined` with 404. */
  readonly body: unknown;
}

/** BOM allowed, everything else that is not UTF-8 is an error. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * What an operation holds while it has its slot: one request at a time to one source. Once it is over nothing can be
 * sent with it any more.
 */
export class HttpExchange {
  #attempt?: HttpAttempt;
  #busy = false;
  /** The request under way was cancelled by its own signal. */
  #stopped = false;
  /** The operation has ended or was cancelled. */
  #over = false;

  constructor(
    private readonly transport: HttpTransport,
    private readonly target: HttpTarget,
    private readonly timeoutMs: number | undefined,
    /** Instead of the source's own of the same name. */
    private readonly headers: Readonly<Record<string, string>> = {},
    /** The source's own credentials, where they may change. */
    private readonly rotating?: RotatingHeaders,
  ) {}

  /**
   * GET of the path made of these segments (each is encoded) under the base URL. Throws HttpStatusError for a status
   * other than 2xx and 404, HttpTransportError, MalformedBodyError and HttpCancelledError. `signal` ends this request;
   * that of the operation ends it anyway.
   */
  async getJson(segments: readonly string[], options: { readonly signal?: AbortSignal } = {}): Promise<JsonAnswer> {
    const { status, body } = await this.#get(segments, options.signal);
    return { status, body: body === undefined ? undefined : parse(body) };
  }

  /** The status of the same GET; whatever its body says. */
  async getStatus(segments: readonly string[]): Promise<number> {
    return (await this.#get(segments)).status;
  }

  /** Destroys the request that is under way; every later one is refused. */
  abort(): void {
    this.#over = true;
    this.#attempt?.destroy('cancelled');
  }

  /** Like `abort`; settles when nothing of this exchange is on the wire any more. Never rejects. */
  async end(): Promise<void> {
    this.abort();
    await this.#attempt?.closed;
  }

  async #get(segments: readonly string[], signal?: AbortSignal): Promise<HttpAnswer> {
    const url = this.target.urlOf(segments);
    // Two at a time would be two live requests in one slot (law 4).
    if (this.#busy) throw new Error('this exchange has a request under way');
    if (this.#over || signal?.aborted) throw new HttpCancelledError();
    const stop = (): void => {
      this.#stopped = true;
      this.#attempt?.destroy('cancelled');
    };
    signal?.addEventListener('abort', stop);
    this.#busy = true;
    this.#stopped = false;
    try {
      return await (this.rotating === undefined ? this.#ask(url, this.headers) : this.#askWith(this.rotating, url));
    } finally {
      this.#busy = false;
      signal?.removeEventListener('abort', stop);
    }
  }

  #ask(url: string, headers: Readonly<Record<string, string>>): Promise<HttpAnswer> {
    const onAttempt = (attempt: HttpAttempt): void => this.#begin(attempt);
    return this.transport.get({ url, timeoutMs: this.timeoutMs, headers: this.#traced(headers), onAttempt });
  }

  /** With the credentials of now. A 401 is asked once more when the file has others by then: nothing was done with it. */
  async #askWith(rotating: RotatingHeaders, url: string): Promise<HttpAnswer> {
    const headers = await rotating.read(CREDENTIALS_AGE_MS);
    const { epoch } = rotating;
    if (this.#over || this.#stopped) throw new HttpCancelledError();
    try {
      return await this.#ask(url, headers);
    } catch (error) {
      if (!(error instanceof HttpStatusError) || error.status !== UNAUTHORIZED) throw error;
      const newer = await rotating.read();
      if (rotating.epoch === epoch) throw error;
      if (this.#over || this.#stopped) throw new HttpCancelledError();
      return this.#ask(url, newer);
    }
  }

  /** With the span of the operation, so that the source's own spans are its children (W3C Trace Context). */
  #traced(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    const span = callContext.getStore()?.span;
    return span === undefined ? headers : { ...headers, traceparent: span.traceparent };
  }

  #begin(attempt: HttpAttempt): void {
    this.#attempt = attempt;
    if (this.#over || this.#stopped) attempt.destroy('cancelled');
  }
}

function parse(body: Buffer): unknown {
  let text: string;
  try {
    text = utf8.decode(body);
  } catch {
    throw new MalformedBodyError('NOT_UTF8');
  }
  try {
    return parseLossless(text);
  } catch {
    throw new MalformedBodyError('NOT_JSON');
  }
}
