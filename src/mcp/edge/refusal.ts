import type { IncomingMessage, ServerResponse } from 'node:http';

/** JSON-RPC codes of requests that are refused before the protocol sees them (mcp-protocol.md §1.3-18). */
const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const INTERNAL_ERROR = -32603;

export interface Refusal {
  readonly status: number;
  readonly code: number;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const refusal = (status: number, code: number, message: string, headers?: Record<string, string>): Refusal => ({
  status,
  code,
  message,
  headers,
});

export const METHOD_NOT_ALLOWED = refusal(405, INVALID_REQUEST, 'Method not allowed: use POST', { allow: 'POST' });
export const HOST_REFUSED = refusal(403, INVALID_REQUEST, 'Forbidden: this host name is not served here');
export const ORIGIN_REFUSED = refusal(403, INVALID_REQUEST, 'Forbidden: this origin is not allowed');
export const WRONG_MEDIA_TYPE = refusal(415, INVALID_REQUEST, 'Unsupported media type: send application/json');
export const ENCODED_BODY = refusal(415, INVALID_REQUEST, 'Unsupported content encoding: send the body as it is');
export const BROKEN_JSON = refusal(400, PARSE_ERROR, 'Parse error: the body is not JSON');
export const SLOW_BODY = refusal(408, INVALID_REQUEST, 'Request timeout: the body took too long', {
  connection: 'close',
});
export const BUSY = refusal(503, INTERNAL_ERROR, 'Busy: too many calls in flight', { 'retry-after': '1' });
export const STOPPING = refusal(503, INTERNAL_ERROR, 'Stopping: ask another replica', {
  'retry-after': '1',
  connection: 'close',
});
export const BROKEN = refusal(500, INTERNAL_ERROR, 'Internal server error');

export const tooLarge = (bytes: number): Refusal =>
  refusal(413, INVALID_REQUEST, `Payload too large: at most ${bytes} bytes`);

/** Milliseconds that a refused client may go on sending what nobody reads. Long enough to notice the answer. */
const LINGER_MS = 2_000;

/** Answers with a JSON-RPC error without an id: none was read. */
export function refuse(req: IncomingMessage, res: ServerResponse, { status, code, message, headers }: Refusal): void {
  if (res.headersSent || res.destroyed) return;
  const text = JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null });
  res.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), ...headers });
  res.end(text);
  if (req.complete) return;
  // Closing at once would reset the connection under a client that is still sending, and the answer with it.
  req.resume();
  const cut = setTimeout(() => req.socket.destroy(), LINGER_MS).unref();
  req.once('close', () => clearTimeout(cut));
}
