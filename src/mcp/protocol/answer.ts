import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { JSONRPCErrorResponse, JSONRPCNotification, JSONRPCResultResponse } from '@modelcontextprotocol/server';

/** Milliseconds between the comments that keep a silent stream open through proxies. */
const KEEP_ALIVE_MS = 15_000;

/** Bytes that a client may leave unread before notifications to it are dropped. */
const MOST_UNREAD = 1_048_576;

const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

/** The lists whose JSON text is made once. */
const LISTS = ['tools', 'resources', 'prompts'] as const;

/** Text of an array that the catalogue has serialised before; undefined for any other. */
export type Serialised = (value: unknown) => string | undefined;

/** What an exchange answers through. */
export interface Replying {
  finish(message: JSONRPCResultResponse | JSONRPCErrorResponse, status: number): void;
  notify(message: JSONRPCNotification): void;
}

/**
 * The answer to one request: one JSON object, or an event stream from the first notification on, when the client accepts
 * one. Nothing is written to a client that has gone.
 */
export class Answer implements Replying {
  #streaming = false;
  #finished = false;
  #keepAlive: NodeJS.Timeout | undefined;

  constructor(
    private readonly res: ServerResponse,
    private readonly acceptsStream: boolean,
    private readonly serialised: Serialised,
  ) {}

  /** Sends the response and ends the answer; later ones are dropped. `status` counts only while nothing was streamed. */
  finish(message: JSONRPCResultResponse | JSONRPCErrorResponse, status: number): void {
    if (!this.#finished) this.finishWith(textOf(message, this.serialised), status);
  }

  /** `finish` with a message that is JSON text already. */
  finishWith(text: string, status = 200): void {
    if (this.#finished) return;
    this.#finished = true;
    if (this.#keepAlive !== undefined) clearInterval(this.#keepAlive);
    if (this.res.destroyed) return;
    if (this.#streaming) {
      this.res.end(event(text));
      return;
    }
    this.res.writeHead(status, ['content-type', 'application/json', 'content-length', String(Buffer.byteLength(text))]);
    this.res.end(text);
  }

  notify(message: JSONRPCNotification): void {
    if (this.#finished || !this.acceptsStream || this.res.destroyed || this.res.writableLength > MOST_UNREAD) return;
    if (!this.#streaming) this.stream();
    this.res.write(event(JSON.stringify(message)));
  }

  private stream(): void {
    this.#streaming = true;
    this.res.writeHead(200, STREAM_HEADERS);
    this.#keepAlive = setInterval(() => this.res.write(': keepalive\n\n'), KEEP_ALIVE_MS).unref();
    this.res.once('close', () => clearInterval(this.#keepAlive));
  }
}

/** JSON alone is enough for us; a stream is for clients that say they read one. */
export function acceptsEventStream({ accept }: IncomingHttpHeaders): boolean {
  return accept !== undefined && /text\/(?:event-stream|\*)|\*\/\*/i.test(accept);
}

function event(text: string): string {
  return `event: message\ndata: ${text}\n\n`;
}

function textOf(message: JSONRPCResultResponse | JSONRPCErrorResponse, serialised: Serialised): string {
  if ('result' in message) {
    const result: Readonly<Record<string, unknown>> = message.result;
    for (const name of LISTS) {
      const list = name in result ? serialised(result[name]) : undefined;
      if (list !== undefined) return listText(message.id, name, list, result);
    }
  }
  return JSON.stringify(message);
}

/** As JSON.stringify would write it, around a list that was written before. */
function listText(id: unknown, name: string, list: string, result: Readonly<Record<string, unknown>>): string {
  const { [name]: _, ...around } = result;
  const rest = JSON.stringify(around);
  const tail = rest === '{}' ? '}' : `,${rest.slice(1)}`;
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"${name}":${list}${tail}}`;
}
