import type { IncomingMessage, ServerResponse } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  WebStandardStreamableHTTPServerTransport,
  createMcpHandler,
  type McpHttpHandler,
} from '@modelcontextprotocol/server';
import type { EventLog } from '../../logging/event-log.js';
import type { ChangeBus } from '../changes.js';
import type { Inbound } from '../inbound.js';
import type { Kept } from './handlers.js';
import type { ServerFactory } from './server-factory.js';

/** Open `subscriptions/listen` streams at a time, per replica. */
const MOST_STREAMS = 1_000;

interface Delegated {
  readonly inbound: Inbound;
  readonly kept?: Kept;
}

/** The SDK's own HTTP handlers, for what our transports do not carry. Slow (ten times the usual request), and complete. */
export class Delegate {
  /** What belongs to a web request: its factory is given nothing but that. */
  readonly #of = new WeakMap<Request, Delegated>();

  constructor(
    private readonly servers: ServerFactory,
    private readonly log: EventLog,
  ) {}

  /** A handler of the 2026 era over the same servers. */
  handler(bus?: ChangeBus): McpHttpHandler {
    return createMcpHandler(
      ({ requestInfo }) => {
        const delegated = requestInfo && this.#of.get(requestInfo);
        if (delegated === undefined) throw new Error('a web request that nobody has delegated');
        return this.servers.create('modern', delegated.inbound, undefined, delegated.kept);
      },
      {
        legacy: 'reject',
        maxSubscriptions: MOST_STREAMS,
        ...(bus && { bus }),
        onerror: this.#onerror,
      },
    );
  }

  async fetch(
    handler: McpHttpHandler,
    req: IncomingMessage,
    res: ServerResponse,
    body: unknown,
    inbound: Inbound,
    kept?: Kept,
  ): Promise<void> {
    await this.node(req, res, body, (request) => {
      this.#of.set(request, { inbound, kept });
      return handler.fetch(request, { parsedBody: body });
    });
  }

  /** The SDK's stateless transport of the 2025 era, in JSON mode and whatever the client accepts. */
  async stateless(req: IncomingMessage, res: ServerResponse, body: unknown, inbound: Inbound): Promise<void> {
    await this.node(req, res, body, async (request) => {
      const server = this.servers.create('legacy', inbound);
      const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: undefined,
        enableJsonResponse: true,
      });
      await server.connect(transport);
      const headers = new Headers(request.headers);
      headers.set('accept', 'application/json, text/event-stream');
      try {
        return await transport.handleRequest(new Request(request, { headers }), { parsedBody: body });
      } finally {
        await server.close();
      }
    });
  }

  private async node(
    req: IncomingMessage,
    res: ServerResponse,
    body: unknown,
    fetch: (request: Request) => Promise<Response>,
  ): Promise<void> {
    await toNodeHandler({ fetch }, { onerror: this.#onerror })(req, res, body);
  }

  /** Also told of every request that is refused, in words that may repeat what the caller sent. */
  readonly #onerror = (error: Error): void => this.log.debug('protocol_error', { error: error.name });
}
