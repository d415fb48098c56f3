import type { Readable, Writable } from 'node:stream';
import { classifyInboundRequest, type JSONRPCRequest } from '@modelcontextprotocol/server';
import type { EventLog } from '../../logging/event-log.js';
import type { CallGate } from '../call-gate.js';
import type { Caller } from '../call.js';
import { callerOf, parentSpanOf } from '../caller.js';
import type { Catalogue } from '../catalogue.js';
import type { Exchange } from '../exchange.js';
import { isRecord } from '../json-schema.js';
import type { CallTracer } from '../ports.js';
import type { Replying } from './answer.js';
import { LegacyExchange } from './legacy-exchange.js';
import { ModernExchange } from './modern-exchange.js';
import { ServerFactory } from './server-factory.js';
import { keptFrom } from './usual-call.js';

export interface StdioOptions {
  readonly serviceName: string;
  readonly catalogue: Catalogue;
  readonly gate: CallGate;
  readonly log: EventLog;
  readonly input: Readable;
  readonly output: Writable;
  /** The caller's credential, asked for each request: one that is rotated counts from the next request on. */
  readonly credential: () => string;
  /** Absent where calls are not traced. */
  readonly tracer?: CallTracer;
  /** Bytes of the longest line; a longer one ends the connection. */
  readonly maxBytes: number;
}

const LINE_FEED = 0x0a;

/** Of the 2026 era on a pipe: the header of an HTTP request says what the body says, so it is made of it. */
const NAME_OF = { 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri' } as const;

const REFUSED = { parse: -32_700, request: -32_600, method: -32_601, internal: -32_603, busy: -32_000 } as const;

/**
 * One client on a pipe (issue 5, point 8). Each request has a protocol server of its own, as over HTTP, so that nothing of one
 * request is known to the next, least of all who sent it. Resolves when the client has gone.
 */
export class StdioServing {
  readonly #servers: ServerFactory;
  readonly #running = new Map<unknown, Exchange>();
  #rest: Buffer[] = [];
  #bytes = 0;

  constructor(private readonly options: StdioOptions) {
    const { serviceName, catalogue, log } = options;
    this.#servers = new ServerFactory(serviceName, catalogue, log, false);
  }

  /** Reads until the client closes its end, or until `leave` aborts. What still runs is left to the drain. */
  async serve(leave: AbortSignal): Promise<void> {
    const { input } = this.options;
    await new Promise<void>((resolve) => {
      const done = (): void => resolve();
      leave.addEventListener('abort', done);
      input.on('data', (chunk: Buffer) => {
        if (!this.#push(chunk)) done();
      });
      input.once('end', done);
      input.once('close', done);
      input.once('error', done);
    });
    input.pause();
    // The client is not there any more to read an answer.
    if (!leave.aborted) for (const exchange of this.#running.values()) exchange.cut('cancelled');
  }

  /** False when the line is longer than any may be. */
  #push(chunk: Buffer): boolean {
    let rest = chunk;
    for (let at = rest.indexOf(LINE_FEED); at !== -1; at = rest.indexOf(LINE_FEED)) {
      const line = Buffer.concat([...this.#rest, rest.subarray(0, at)]).toString('utf8');
      this.#rest = [];
      this.#bytes = 0;
      rest = rest.subarray(at + 1);
      if (line.trim() !== '') this.#receive(line);
    }
    this.#bytes += rest.length;
    if (rest.length > 0) this.#rest.push(rest);
    return this.#bytes <= this.options.maxBytes;
  }

  #receive(line: string): void {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      return this.#refuse(null, REFUSED.parse, 'Parse error');
    }
    // An answer: we ask a client nothing, so it answers nobody.
    if (isRecord(message) && !('method' in message) && ('result' in message || 'error' in message)) return;
    if (!isRequest(message)) return this.#refuse(idOf(message), REFUSED.request, 'Invalid Request');
    if (message.id === undefined) return this.#notified(message);
    // The answers to two requests of one id could not be told from each other.
    if (this.#running.has(message.id)) return this.#refuse(message.id, REFUSED.request, 'Invalid Request: id in use');
    this.#answer(message as JSONRPCRequest);
  }

  #notified({ method, params }: Incoming): void {
    if (method !== 'notifications/cancelled' || !isRecord(params)) return;
    const id = params['requestId'];
    const exchange = this.#running.get(id);
    this.#running.delete(id);
    exchange?.cut('cancelled');
  }

  #answer(request: JSONRPCRequest): void {
    const { gate, log } = this.options;
    const { id, method } = request;
    const version = revisionOf(request);
    const route = classifyInboundRequest({
      httpMethod: 'POST',
      ...(version !== undefined && {
        ...{ protocolVersionHeader: version, mcpMethodHeader: method, mcpNameHeader: nameOf(request) },
      }),
      body: request,
    });
    if (route.kind === 'reject' || method === 'subscriptions/listen')
      return this.#refuse(
        id,
        REFUSED.method,
        `Method not served here: ${route.kind === 'reject' ? 'revision' : 'stream'}`,
      );
    const exchange = gate.admit();
    if (exchange === undefined) return this.#refuse(id, REFUSED.busy, 'El servidor está ocupado o se está deteniendo.');
    this.#running.set(id, exchange);
    let finished = false;
    const replying: Replying = {
      finish: (answer) => {
        if (finished) return;
        finished = true;
        // Nobody waits for the answer to a request that was cancelled, and its id may be that of another one by now.
        if (this.#running.get(id) === exchange) {
          this.#running.delete(id);
          this.#write(answer);
        }
        exchange.release();
      },
      notify: (notification) => this.#write(notification),
    };
    this.#dispatch(request, route, exchange, replying).catch((error: unknown) => {
      log.error('unexpected_error', {}, error);
      const fault = { code: REFUSED.internal, message: 'Internal error' };
      replying.finish({ jsonrpc: '2.0', id, error: fault }, 200);
    });
  }

  async #dispatch(request: JSONRPCRequest, route: Served, exchange: Exchange, replying: Replying): Promise<void> {
    const { message, kept } = keptFrom(request);
    const { id, method } = request;
    const { tracer } = this.options;
    const inbound = { exchange, caller: this.#caller(request), parent: parentSpanOf({}, request), tracer };
    if (route.kind === 'modern') {
      const carried = new ModernExchange(route.classification, id, replying);
      await this.#servers.create('modern', inbound, undefined, kept).connect(carried);
      carried.dispatch(message);
      return;
    }
    const carried = new LegacyExchange(id, replying);
    await this.#servers.create('legacy', inbound, method, kept).connect(carried);
    carried.dispatch(message);
  }

  #caller(request: JSONRPCRequest): Caller {
    return { ...callerOf({}, request, ''), credential: this.options.credential() };
  }

  #refuse(id: unknown, code: number, message: string): void {
    this.#write({ jsonrpc: '2.0', id, error: { code, message } });
  }

  #write(message: object): void {
    const { output } = this.options;
    if (!output.destroyed && !output.writableEnded) output.write(`${JSON.stringify(message)}\n`);
  }
}

type Served = Exclude<ReturnType<typeof classifyInboundRequest>, { kind: 'reject' }>;

/** A request, or without an id a notification. */
interface Incoming {
  readonly method: string;
  readonly params?: unknown;
  readonly id?: string | number;
}

/** JSON-RPC 2.0, without the batches that no era of MCP has on a pipe, and without the id `null`, which MCP forbids. */
function isRequest(message: unknown): message is Incoming {
  return (
    isRecord(message) && typeof message['method'] === 'string' && (message['id'] === undefined || isId(message['id']))
  );
}

const isId = (id: unknown): id is string | number => typeof id === 'string' || typeof id === 'number';

/** Of a message that is none; `null` where it cannot be told. */
const idOf = (message: unknown): string | number | null =>
  isRecord(message) && isId(message['id']) ? message['id'] : null;

function revisionOf({ params }: JSONRPCRequest): string | undefined {
  const meta = isRecord(params) ? params['_meta'] : undefined;
  const version = isRecord(meta) ? meta['io.modelcontextprotocol/protocolVersion'] : undefined;
  return typeof version === 'string' ? version : undefined;
}

function nameOf({ method, params }: JSONRPCRequest): string | undefined {
  const field = method in NAME_OF ? NAME_OF[method as keyof typeof NAME_OF] : undefined;
  const name = field !== undefined && isRecord(params) ? params[field] : undefined;
  return typeof name === 'string' ? name : undefined;
}
