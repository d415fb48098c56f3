import { type Agent, request, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http';

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as JSON; undefined when it is none. */
  readonly json: RpcReply;
}

export interface RpcReply {
  readonly jsonrpc: string;
  readonly id: unknown;
  readonly result: Readonly<Record<string, unknown>>;
  readonly error: {
    readonly code: number;
    readonly message: string;
    readonly data?: Readonly<Record<string, unknown>>;
  };
}

export interface Sent {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Buffer;
  readonly signal?: AbortSignal;
  /** Keeps connections for the next requests; without it each has one of its own. */
  readonly agent?: Agent;
}

/** One HTTP request as it is. */
export function send(url: string, { method = 'POST', headers = {}, body, signal, agent }: Sent = {}): Promise<Reply> {
  // `undefined` takes a header away that the functions below would send.
  const present = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
  return new Promise((resolve, reject) => {
    const req = request(url, { method, headers: present, signal, agent: agent ?? false }, (res) => {
      const chunks: Buffer[] = [];
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('error', reject);
      res.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({ status: res.statusCode ?? 0, headers: res.headers, text, json: jsonOf(text) });
      });
    });
    req.on('error', reject);
    req.end(body);
  });
}

function jsonOf(text: string): RpcReply {
  try {
    return JSON.parse(text) as RpcReply;
  } catch {
    return undefined as unknown as RpcReply;
  }
}

const JSON_HEADERS = { 'content-type': 'application/json' };
let lastId = 0;

/** A request of the 2025 era. */
export function legacy(url: string, method: string, params: object = {}, sent: Sent = {}): Promise<Reply> {
  const headers = { ...JSON_HEADERS, 'mcp-protocol-version': '2025-11-25', ...sent.headers };
  return send(url, { ...sent, headers, body: JSON.stringify({ jsonrpc: '2.0', id: ++lastId, method, params }) });
}

export const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'cliente-de-prueba', version: '1.2.3' },
};

/** A request of the 2026 era, its three headers as they should be unless `sent.headers` says otherwise. */
export function modern(
  url: string,
  method: string,
  params: Record<string, unknown> = {},
  sent: Sent = {},
): Promise<Reply> {
  const name = params['name'] ?? params['uri'];
  const headers = {
    ...JSON_HEADERS,
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(typeof name === 'string' && { 'mcp-name': name }),
    ...sent.headers,
  };
  const meta = { ...ENVELOPE, ...(params['_meta'] as object | undefined) };
  const message = { jsonrpc: '2.0', id: ++lastId, method, params: { ...params, _meta: meta } };
  return send(url, { ...sent, headers, body: JSON.stringify(message) });
}
