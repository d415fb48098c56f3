import { readFileSync } from 'node:fs';
import { ProtocolError, SUPPORTED_PROTOCOL_VERSIONS, Server } from '@modelcontextprotocol/server';
import type { ServerCapabilities, ServerContext, ServerOptions } from '@modelcontextprotocol/server';
import type { EventLog } from '../../logging/event-log.js';
import type { CallStream } from '../call-stream.js';
import type { CallKind } from '../call.js';
import type { Catalogue } from '../catalogue.js';
import { CallError, INVALID_PARAMS } from '../errors.js';
import type { Inbound } from '../inbound.js';
import { INTERNAL_ERROR, RpcFailure, UnknownEntryFailure, type Result } from '../results.js';
import { startCall } from '../start-call.js';
import { located, named, unpaged } from './params.js';

export type Era = 'modern' | 'legacy';

/** The revision whose requests carry their envelope in `_meta`. */
export const MODERN_REVISION = '2026-07-28';

/** Milliseconds for which a list may be kept: the catalogue is fixed at start, but a view may change with the policy. */
const LIST_TTL_MS = 60_000;

/** UTF-16 units of an unknown name that are repeated to who sent it; more than a valid name can have. */
const LONGEST_ECHO = 128;

/** What the caller sent as arguments, when the engine has kept it away from the SDK; see `ProtocolEngine`. */
export interface Kept {
  readonly arguments: unknown;
}

type Handlers = Readonly<Record<string, (server: Server) => void>>;

/**
 * A fresh low-level `Server` per request over the compiled catalogue. Not `McpServer`: it registers every tool and converts
 * every schema again for each request. Never a shared one: answers would find the wrong caller (GHSA-345p-7cg4-v4c7).
 */
export class ServerFactory {
  readonly #info: { readonly name: string; readonly version: string };
  readonly #options: Readonly<Record<Era, ServerOptions>>;

  constructor(
    serviceName: string,
    private readonly catalogue: Catalogue,
    private readonly log: EventLog,
    changes: boolean,
  ) {
    this.#info = { name: serviceName, version: packageVersion() };
    const capabilities = capabilitiesOf(changes);
    this.#options = {
      legacy: { capabilities, supportedProtocolVersions: SUPPORTED_PROTOCOL_VERSIONS },
      modern: {
        capabilities,
        supportedProtocolVersions: [MODERN_REVISION],
        cacheHints: { 'server/discover': { ttlMs: LIST_TTL_MS, cacheScope: 'private' } },
      },
    };
  }

  /** `method`: the one request that the server is made for; all of them when it is not known. */
  create(era: Era, inbound: Inbound, method?: string, kept?: Kept): Server {
    const server = new Server(this.#info, this.#options[era]);
    // The text may repeat what the caller sent; its class does not.
    server.onerror = (error) => this.log.debug('protocol_error', { error: error.name });
    const handlers = this.handlers(era, inbound, kept);
    if (method === undefined) for (const register of Object.values(handlers)) register(server);
    else handlers[method]?.(server);
    return server;
  }

  private handlers(era: Era, inbound: Inbound, kept: Kept | undefined): Handlers {
    const hints = era === 'modern' ? { ttlMs: LIST_TTL_MS, cacheScope: 'private' } : {};
    const list = (kind: CallKind) =>
      asProtocolError(() => this.catalogue.definitions(kind, inbound.caller, inbound.exchange.signal));
    const run = (kind: CallKind, name: string, input: unknown, context: ServerContext) =>
      this.call(kind, name, input, inbound, streamOf(context));
    // Not `kept ?? …`: a caller may well have sent `null` as arguments, and that must be refused as such.
    const argumentsOf = (message: unknown) => (kept === undefined ? message : kept.arguments);
    return {
      'tools/list': (server) =>
        server.setRequestHandler('tools/list', { params: unpaged }, async () => ({
          tools: await list('tool'),
          ...hints,
        })),
      'resources/list': (server) =>
        server.setRequestHandler('resources/list', { params: unpaged }, async () => ({
          resources: await list('resource'),
          ...hints,
        })),
      'resources/templates/list': (server) =>
        server.setRequestHandler('resources/templates/list', { params: unpaged }, async () => {
          // There are none, but whoever may not list is told so here too.
          await list('resource');
          return { resourceTemplates: [], ...hints };
        }),
      'prompts/list': (server) =>
        server.setRequestHandler('prompts/list', { params: unpaged }, async () => ({
          prompts: await list('prompt'),
          ...hints,
        })),
      'tools/call': (server) =>
        server.setRequestHandler('tools/call', { params: named }, ({ name, arguments: sent }, context) =>
          run('tool', name, argumentsOf(sent), context),
        ),
      'resources/read': (server) =>
        server.setRequestHandler('resources/read', { params: located }, ({ uri }, context) =>
          run('resource', uri, undefined, context),
        ),
      'prompts/get': (server) =>
        server.setRequestHandler('prompts/get', { params: named }, ({ name, arguments: sent }, context) =>
          run('prompt', name, argumentsOf(sent), context),
        ),
    };
  }

  private async call(
    kind: CallKind,
    name: string,
    input: unknown,
    inbound: Inbound,
    stream: CallStream,
  ): Promise<Result> {
    const entry = this.catalogue.find(kind, name);
    try {
      return await startCall(entry, input, inbound, stream);
    } catch (error) {
      if (error instanceof UnknownEntryFailure) throw unknownError(kind, name);
      throw error instanceof RpcFailure ? protocolError(error) : masked(error, this.log);
    }
  }
}

/** Only here, and only to its sender, is an unknown name repeated. */
function unknownError(kind: CallKind, name: string): ProtocolError {
  const text = `Unknown ${kind}: '${name.slice(0, LONGEST_ECHO)}'`;
  return new ProtocolError(INVALID_PARAMS, text, kind === 'resource' ? { uri: name } : undefined);
}

function protocolError({ code, message, data }: RpcFailure): ProtocolError {
  return new ProtocolError(code, message, data);
}

/** A step threw something that even the error filter did not see. The SDK would send its text as it is. */
function masked(error: unknown, log: EventLog): ProtocolError {
  log.error('unexpected_error', {}, error);
  return new ProtocolError(INTERNAL_ERROR, 'Internal error');
}

async function asProtocolError<T>(list: () => Promise<T>): Promise<T> {
  try {
    return await list();
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    const { code, message, data, jsonRpcCode } = error;
    throw new ProtocolError(jsonRpcCode ?? INTERNAL_ERROR, message, { ...data, code });
  }
}

function streamOf(context: ServerContext): CallStream {
  const { mcpReq } = context;
  return {
    async progress(progress, total, message) {
      const progressToken = mcpReq._meta?.progressToken;
      if (progressToken === undefined) return;
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total, message } });
    },
    log: (level, data, logger) => mcpReq.log(level, data, logger),
  };
}

function capabilitiesOf(changes: boolean): ServerCapabilities {
  return {
    tools: { listChanged: changes },
    resources: { listChanged: changes, subscribe: changes },
    prompts: { listChanged: changes },
    // `logging/setLevel` and log messages in the 2025 era; the 2026 era asks for them per request.
    logging: {},
  };
}

function packageVersion(): string {
  const file = new URL('../../../package.json', import.meta.url);
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string };
  return version;
}
