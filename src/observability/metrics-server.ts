import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { EventLog } from '../logging/event-log.js';
import type { BearerToken } from './bearer-token.js';

/** What is served: the text of the metrics, and its content type. */
export interface Exposition {
  readonly contentType: string;
  text(): Promise<string>;
}

export interface MetricsServerOptions {
  readonly host: string;
  readonly port: number;
  readonly token?: BearerToken;
  readonly exposition: Exposition;
  readonly log: EventLog;
}

/** A scraper or two; everything else that connects is a mistake. */
const MOST_CONNECTIONS = 20;
const REQUEST_MS = 5_000;

/** /metrics on a port of its own, and nothing else on it: neither the drain nor a full call gate concerns it. */
export class MetricsServer {
  readonly #server: Server;

  constructor(private readonly options: MetricsServerOptions) {
    const { log } = options;
    this.#server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS }, (request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        log.error('metrics_failed', {}, error);
        response.destroy();
      });
    });
    this.#server.maxConnections = MOST_CONNECTIONS;
  }

  /** Rejects with the system's error when the port cannot be had. */
  async listen(): Promise<void> {
    const { host, port, log } = this.options;
    this.#server.listen(port, host);
    await once(this.#server, 'listening');
    log.info('metrics_listening', { host, port });
  }

  /** Idempotent. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { token, exposition } = this.options;
    if (request.url?.split('?')[0] !== '/metrics') return end(response, 404);
    if (request.method !== 'GET' && request.method !== 'HEAD') return end(response, 405, { Allow: 'GET, HEAD' });
    if (token?.admits(request.headers.authorization) === false) {
      return end(response, 401, { 'WWW-Authenticate': 'Bearer' });
    }
    const text = await exposition.text();
    response.writeHead(200, { 'Content-Type': exposition.contentType, 'Cache-Control': 'no-store' }).end(text);
  }
}

function end(response: ServerResponse, status: number, headers: Readonly<Record<string, string>> = {}): void {
  response.writeHead(status, { ...headers, 'Content-Length': 0 }).end();
}
