import type { Server } from 'node:http';

/** Milliseconds that an idle connection is kept: longer than the 60 s of most balancers, so that they close first. */
const KEEP_ALIVE_MS = 65_000;

/** Milliseconds for the headers of a request, and for all of it; /mcp limits its bodies more tightly. */
const HEADERS_MS = 15_000;
const REQUEST_MS = 60_000;

/** Limits of the HTTP server under the application, for all routes. Call it once, before `listen`. */
export function limitHttpServer(server: Server): void {
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.headersTimeout = HEADERS_MS;
  server.requestTimeout = REQUEST_MS;
  server.maxHeadersCount = 100;
}
