import { type Agent, type IncomingMessage, request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import { UpstreamAccountRefusedError, UpstreamLostError, UpstreamUnansweredError } from './mcp-errors.js';
import { HttpStatusError, HttpTransportError } from '../http/http-errors.js';
import { retryAfterSeconds } from '../http/retry-after.js';

/** Which call a request of the SDK's transport belongs to; never sent. */
export const CALL_HEADER = 'x-mcp-corp-call';

/** Time for an answer to come out of a body that has ended, in milliseconds: the SDK reads it through several streams. */
const LAST_WORD_MS = 100;

/** Characters that a header can carry; Node's own error would quote the value. */
const SENDABLE = /^[\x20-\x7e]+$/;

const [UNAUTHORIZED, NOT_FOUND, BAD_REQUEST] = [401, 404, 400];

export interface HttpWireOptions {
  readonly url: URL;
  readonly agent: Agent;
  /** Bytes of the largest answer. */
  readonly maxBytes: number;
}

/**
 * One call on the wire. HTTP/1.1 knows no other way to stop than closing the connection, and each call has its own: ending
 * one harms none of its neighbours on the session.
 */
export class WireCall {
  readonly #requests = new Set<{ destroy(): unknown; readonly closed: Promise<void> }>();
  #ended = false;
  #fail!: (error: Error) => void;
  /** Rejects when no answer can come any more. */
  readonly lost = new Promise<never>((_resolve, reject) => (this.#fail = reject));

  constructor(
    readonly token: string,
    readonly bearer: string | undefined,
  ) {
    this.lost.catch(() => undefined);
  }

  get headers(): Readonly<Record<string, string>> {
    return { [CALL_HEADER]: this.token };
  }

  fail(error: Error): void {
    this.#fail(error);
  }

  hold(request: { destroy(): unknown; readonly closed: Promise<void> }): void {
    this.#requests.add(request);
    void request.closed.then(() => this.#requests.delete(request));
    if (this.#ended) request.destroy();
  }

  /** Settles when no request of it is open. */
  async end(): Promise<void> {
    this.#ended = true;
    const open = [...this.#requests];
    for (const request of open) request.destroy();
    await Promise.all(open.map(({ closed }) => closed));
  }
}

/**
 * The `fetch` that the SDK's transport is given. It talks through the upstream's own agent (law 9: own connections, own
 * look-ups), puts the credential of the very call into each request, follows nobody's redirects, and bounds what is read.
 */
export class HttpWire {
  readonly #calls = new Map<string, WireCall>();
  readonly #sockets = new Set<object>();
  #opened = 0;
  #last = 0;

  constructor(
    private readonly options: HttpWireOptions,
    /** Of requests that belong to no call: the handshake, a cancellation, the end of the session. */
    private bearer: string | undefined,
  ) {
    checkSendable(bearer);
  }

  /**
   * The same number for as long as no connection was opened: whoever answers can only be who answered before. Undefined while
   * none is open.
   */
  get generation(): number | undefined {
    return this.#sockets.size > 0 ? this.#opened : undefined;
  }

  /** Throws UpstreamAccountRefusedError for what no header can carry. */
  begin(bearer: string | undefined): WireCall {
    checkSendable(bearer);
    if (bearer !== undefined) this.bearer = bearer;
    const call = new WireCall(String(++this.#last), bearer);
    this.#calls.set(call.token, call);
    return call;
  }

  async end(call: WireCall): Promise<void> {
    this.#calls.delete(call.token);
    await call.end();
  }

  readonly fetch = async (input: string | URL, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    const token = headers.get(CALL_HEADER);
    headers.delete(CALL_HEADER);
    const call = token === null ? undefined : this.#calls.get(token);
    // A late request of a call that is over, such as one that was prepared while it was cancelled.
    if (token !== null && call === undefined) throw new UpstreamLostError('CALL_ENDED');
    // Without a standing stream: nothing that an upstream says by itself has a reader here.
    if ((init.method ?? 'GET') === 'GET') return new Response(null, { status: 405 });
    const bearer = call?.bearer ?? this.bearer;
    if (bearer !== undefined) headers.set('authorization', `Bearer ${bearer}`);
    const answer = await this.#send(new URL(input), init, headers, call);
    const refusal = this.#refusalOf(answer, call !== undefined);
    if (refusal === undefined) return this.#response(answer, call);
    answer.resume();
    call?.fail(refusal);
    throw refusal;
  };

  #send(url: URL, init: RequestInit, headers: Headers, call: WireCall | undefined): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const { method } = init;
      const request = (url.protocol === 'https:' ? secureRequest : plainRequest)(url, {
        ...{ method, agent: this.options.agent, headers: Object.fromEntries(headers) },
      });
      let connecting = true;
      const closed = new Promise<void>((done) => request.once('close', done));
      call?.hold({ destroy: () => request.destroy(), closed });
      const abort = (): void => void request.destroy();
      if (init.signal?.aborted) abort();
      init.signal?.addEventListener('abort', abort);
      void closed.then(() => init.signal?.removeEventListener('abort', abort));
      request.once('socket', (socket) => {
        if (!this.#sockets.has(socket)) {
          this.#sockets.add(socket);
          this.#opened += 1;
          socket.once('close', () => this.#sockets.delete(socket));
        }
        if (socket.connecting)
          socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => (connecting = false));
        else connecting = false;
      });
      request.once('response', resolve);
      request.once('error', (error: NodeJS.ErrnoException) => {
        // The error itself is dropped: it names the host.
        const lost = new HttpTransportError(error.code ?? 'ECONNRESET', connecting);
        call?.fail(lost);
        reject(lost);
      });
      request.end(typeof init.body === 'string' ? init.body : undefined);
    });
  }

  /** Of a call, everything but what the SDK reads itself; of the rest (a handshake), only a redirect. */
  #refusalOf({ statusCode = 0, headers }: IncomingMessage, ofCall: boolean): Error | undefined {
    if (statusCode >= 300 && statusCode < 400) return new HttpStatusError(statusCode);
    if (!ofCall || statusCode < BAD_REQUEST || statusCode === BAD_REQUEST) return undefined;
    if (statusCode === UNAUTHORIZED) return new UpstreamAccountRefusedError();
    // Streamable HTTP, session management: the upstream has forgotten the session, and so has not run the call.
    if (statusCode === NOT_FOUND) return new UpstreamLostError('HTTP_404');
    return new HttpStatusError(statusCode, retryAfterSeconds(headers['retry-after'], Date.now()));
  }

  #response(answer: IncomingMessage, call: WireCall | undefined): Response {
    const { statusCode = 200, statusMessage, headers } = answer;
    const kept = new Headers();
    for (const [name, value] of Object.entries(headers)) {
      if (value !== undefined) kept.set(name, Array.isArray(value) ? value.join(', ') : value);
    }
    const bodiless = statusCode === 204 || statusCode === 205;
    if (bodiless) answer.resume();
    const body = bodiless ? null : this.#body(answer, call);
    return new Response(body, { status: statusCode, statusText: statusMessage ?? '', headers: kept });
  }

  #body(answer: IncomingMessage, call: WireCall | undefined): ReadableStream<Uint8Array> {
    const { maxBytes } = this.options;
    let bytes = 0;
    let open = true;
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        const broken = (error: Error): void => {
          if (!open) return;
          open = false;
          answer.destroy();
          call?.fail(error);
          controller.error(error);
        };
        answer.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (!open) return;
          if (bytes > maxBytes) return broken(new UpstreamUnansweredError('TOO_LARGE'));
          controller.enqueue(chunk);
          if ((controller.desiredSize ?? 1) <= 0) answer.pause();
        });
        answer.once('end', () => {
          if (!open) return;
          open = false;
          controller.close();
          // Whatever the SDK has made of it by then is the answer; a body without one leaves nothing to wait for.
          setTimeout(() => call?.fail(new UpstreamLostError('NO_ANSWER')), LAST_WORD_MS).unref();
        });
        const cut = (): void => broken(new UpstreamLostError('ECONNRESET'));
        answer.once('error', cut);
        answer.once('close', cut);
      },
      pull: () => void answer.resume(),
      cancel: () => {
        open = false;
        answer.destroy();
      },
    });
  }
}

function checkSendable(bearer: string | undefined): void {
  if (bearer !== undefined && !SENDABLE.test(bearer)) throw new UpstreamAccountRefusedError();
}
