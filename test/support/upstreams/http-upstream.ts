import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, Server as ServerV2 } from '@modelcontextprotocol/server';
import { Server as ServerV1 } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { startHttpServer, type TestServer } from '../http-server.js';
import { answer, newState, page } from './tools.mjs';

export type UpstreamEra = 'modern' | 'sessions';
type State = ReturnType<typeof newState>;

export interface HttpUpstream extends TestServer {
  readonly state: State;
  /** Requests by JSON-RPC method, with the credential that each of them brought. */
  readonly asked: { readonly method: string; readonly credential: string | undefined }[];
  /** Answers every request with this status, until it is undefined again. */
  status: number | undefined;
  /** Accepts requests and answers none. */
  silent: boolean;
  /** Only these credentials may do anything. */
  accepts: ((credential: string | undefined) => boolean) | undefined;
}

export interface HttpUpstreamOptions {
  readonly era?: UpstreamEra;
  readonly state?: Partial<State>;
  readonly port?: number;
  readonly accepts?: HttpUpstream['accepts'];
}

/** A real MCP server over Streamable HTTP: the 2026 revision without sessions, or the 2025 one with them. */
export async function startUpstream({
  era = 'modern',
  state: given,
  port,
  accepts,
}: HttpUpstreamOptions = {}): Promise<HttpUpstream> {
  const state = newState(given);
  const asked: HttpUpstream['asked'][number][] = [];
  const serve = era === 'modern' ? modern(state) : sessions(state);
  const controls = { status: undefined as number | undefined, silent: false, accepts };
  const server = await startHttpServer(
    (request, response) => {
      void (async () => {
        const credential = request.headers.authorization?.replace(/^Bearer /, '');
        const body = await bodyOf(request);
        const { method } = (body ?? {}) as { method?: string };
        asked.push({ method: method ?? `HTTP ${request.method}`, credential });
        if (controls.silent) return;
        if (controls.status !== undefined) return void response.writeHead(controls.status).end();
        if (controls.accepts?.(credential) === false) return void response.writeHead(401).end();
        await serve(request, response, body, credential);
      })();
    },
    port === undefined ? {} : { port },
  );
  state.die = () => {
    for (const socket of server.open) socket.destroy();
  };
  return Object.defineProperties(Object.assign(server, { state, asked }) as unknown as HttpUpstream, {
    status: { get: () => controls.status, set: (to: number | undefined) => (controls.status = to) },
    silent: { get: () => controls.silent, set: (to: boolean) => (controls.silent = to) },
    accepts: { get: () => controls.accepts, set: (to: HttpUpstream['accepts']) => (controls.accepts = to) },
  });
}

type Serve = (request: IncomingMessage, response: ServerResponse, body: unknown, credential?: string) => Promise<void>;

function modern(state: State): Serve {
  const credentials = new WeakMap<Request, string | undefined>();
  const handler = createMcpHandler(({ requestInfo }) => {
    const credential = requestInfo && credentials.get(requestInfo);
    const server = new ServerV2({ name: 'moderno', version: '1.0.0' }, { capabilities: { tools: {} } });
    server.setRequestHandler('tools/list', ({ params }) => page(state, params?.cursor) as never);
    server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
      const { signal } = mcpReq;
      return (await answer(state, params.name, params.arguments ?? {}, { credential, signal })) as never;
    });
    return server;
  });
  return async (request, response, body, credential) => {
    const fetch = (web: Request): Promise<Response> => {
      credentials.set(web, credential);
      return handler.fetch(web, { parsedBody: body });
    };
    await toNodeHandler({ fetch })(request, response, body);
  };
}

function sessions(state: State): Serve {
  const open = new Map<string, StreamableHTTPServerTransport>();
  const begin = async (credential: string | undefined): Promise<StreamableHTTPServerTransport> => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void open.set(id, transport),
      onsessionclosed: (id) => void open.delete(id),
    });
    const server = new ServerV1({ name: 'sesiones', version: '1.0.0' }, { capabilities: { tools: {} } });
    server.setRequestHandler(ListToolsRequestSchema, ({ params }) => page(state, params?.cursor));
    server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal, requestInfo }) => {
      const brought = requestInfo?.headers['authorization'];
      const used = typeof brought === 'string' ? brought.replace(/^Bearer /, '') : credential;
      return answer(state, params.name, params.arguments ?? {}, { credential: used, signal });
    });
    await server.connect(transport);
    return transport;
  };
  return async (request, response, body, credential) => {
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? open.get(id) : undefined;
    if (typeof id === 'string' && known === undefined) return void response.writeHead(404).end();
    await (known ?? (await begin(credential))).handleRequest(request, response, body);
  };
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  return text === '' ? undefined : (JSON.parse(text) as unknown);
}
