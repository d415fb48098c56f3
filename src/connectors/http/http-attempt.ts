import { type ClientRequest, type IncomingMessage, type RequestOptions, request as requestPlain } from 'node:http';
import { request as requestSecure } from 'node:https';
import { type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { callContext } from '../../logging/call-context.js';

/** Why we destroyed a request ourselves. `unwanted`: its status says enough and the rest of its body does not come. */
export type Ending = 'cancelled' | 'timeout' | 'unwanted';

/** Codes with which a keep-alive connection says that the other side had closed it while it was idle. */
const STALE = new Set(['ECONNRESET', 'EPIPE']);

type OnResponse = (response: IncomingMessage) => void;

/**
 * One request on the wire, as Node sees it. axios composes, sends and reads it, but does not say which socket it used,
 * when that socket is free again (law 4) or how far it got (law 7). This object, handed to axios as its `transport`, does.
 */
export class HttpAttempt {
  /** Settles when the socket is closed or back in the agent, or when it is certain that there will be none. */
  readonly closed: Promise<void>;
  /** Set as soon as the status line and the headers have arrived. */
  head?: { readonly status: number; readonly retryAfter: string | undefined };
  bodyBytes = 0;
  /** The code of the error on the wire. */
  code?: string;
  /** Whatever was read by then may be cut short and must not be used. */
  ended?: Ending;
  /** True until the connection, TLS included, was usable. */
  connecting = true;
  #request?: ClientRequest;
  #socket?: Socket;
  #bytesBefore = 0;
  #close!: () => void;

  constructor(
    private readonly secure: boolean,
    private readonly onHead: () => void,
  ) {
    this.closed = new Promise((resolve) => (this.#close = resolve));
  }

  /** What axios calls instead of `http.request`; it sees the same request and the same response. */
  readonly transport = {
    request: (options: RequestOptions, onResponse: OnResponse): ClientRequest => {
      // axios comes here some microtasks after it was called; a request that nobody wants any more is not even made.
      if (this.ended) throw endedByUs();
      const send = this.secure ? requestSecure : requestPlain;
      const request = send(options, (response) => {
        this.#began(response);
        onResponse(response);
      });
      this.#watch(request);
      return request;
    },
  };

  /** Destroys the socket, also one that is still connecting. Idempotent; the first reason counts. */
  destroy(reason: Ending): void {
    this.ended ??= reason;
    this.#request?.destroy(endedByUs());
  }

  /** Says that axios has given up: without a request there is no socket to wait for. */
  givenUp(code: string | undefined): void {
    this.code ??= code;
    if (!this.#request) this.#close();
  }

  /** A connection that had been idle in the pool turned out dead before a byte of an answer came. */
  get foundStale(): boolean {
    return (
      this.#request?.reusedSocket === true &&
      this.ended === undefined &&
      this.head === undefined &&
      this.#socket?.bytesRead === this.#bytesBefore &&
      STALE.has(this.code ?? '')
    );
  }

  #watch(request: ClientRequest): void {
    this.#request = request;
    // Asked for here: the socket may come in the context of whoever gave it back.
    const span = callContext.getStore()?.span;
    // Node says `close` once for each request: when its socket has closed, or in the turn in which it returns to the agent.
    request.once('close', this.#close);
    request.on('error', (error: NodeJS.ErrnoException) => {
      this.code ??= error.code;
    });
    request.once('socket', (socket) => {
      this.#socket = socket;
      this.#bytesBefore = socket.bytesRead;
      const usable = (): void => {
        this.connecting = false;
      };
      if (request.reusedSocket) usable();
      else {
        const connected = span?.connecting();
        socket.once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', () => {
          usable();
          connected?.();
        });
        if (connected !== undefined) socket.once('close', () => connected('unavailable'));
      }
    });
  }

  #began(response: IncomingMessage): void {
    this.head = { status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'] };
    response.on('data', (chunk: Buffer) => {
      this.bodyBytes += chunk.length;
    });
    this.onHead();
  }
}

const endedByUs = (): Error => Object.assign(new Error('the request was ended by us'), { code: 'ECANCELED' });
