import { readFileSync } from 'node:fs';
import { SUPPORTED_PROTOCOL_VERSIONS, Server } from '@modelcontextprotocol/server';
import type { ServerCapabilities, ServerOptions } from '@modelcontextprotocol/server';
import type { EventLog } from '../../logging/event-log.js';
import type { Catalogue } from '../catalogue.js';
import type { Inbound } from '../inbound.js';
import type { Result } from '../results.js';
import { handlersOf, type Era, type Features, type Kept } from './handlers.js';
import { named, unpaged } from './params.js';

/** The revision whose requests carry their envelope in `_meta`. */
export const MODERN_REVISION = '2026-07-28';

/** Milliseconds for which `server/discover` may be kept. */
const DISCOVER_TTL_MS = 60_000;

/**
 * A fresh low-level `Server` per request over the compiled catalogue. Not `McpServer`: it registers every tool and converts
 * every schema again for each request. Never a shared one: answers would find the wrong caller (GHSA-345p-7cg4-v4c7).
 */
export class ServerFactory {
  readonly info: { readonly name: string; readonly version: string };
  readonly #options: Readonly<Record<Era, ServerOptions>>;
  readonly #features: Features;

  constructor(
    serviceName: string,
    private readonly catalogue: Catalogue,
    private readonly log: EventLog,
    changes: boolean,
  ) {
    this.info = { name: serviceName, version: packageVersion() };
    const capabilities = capabilitiesOf(changes, catalogue.suggests);
    this.#features = { changes, completions: catalogue.suggests };
    this.#options = {
      legacy: { capabilities, supportedProtocolVersions: SUPPORTED_PROTOCOL_VERSIONS },
      modern: {
        capabilities,
        supportedProtocolVersions: [MODERN_REVISION],
        cacheHints: { 'server/discover': { ttlMs: DISCOVER_TTL_MS, cacheScope: 'private' } },
      },
    };
  }

  /** `method`: the one request that the server is made for; all of them when it is not known. */
  create(era: Era, inbound: Inbound, method?: string, kept?: Kept): Server {
    const server = this.#bare(era);
    const handlers = handlersOf(era, { catalogue: this.catalogue, inbound, log: this.log, kept }, this.#features);
    if (method === undefined) for (const register of Object.values(handlers)) register?.(server);
    else handlers[method]?.(server);
    return server;
  }

  /** A server for one request that has been served already, and ended in `end`: it answers, and calls nothing. */
  replay(era: Era, method: 'tools/call' | 'tools/list', end: () => Promise<Result>): Server {
    const server = this.#bare(era);
    if (method === 'tools/call') server.setRequestHandler(method, { params: named }, end);
    else server.setRequestHandler(method, { params: unpaged }, end);
    return server;
  }

  #bare(era: Era): Server {
    const server = new Server(this.info, this.#options[era]);
    // The text may repeat what the caller sent; its class does not.
    server.onerror = (error) => this.log.debug('protocol_error', { error: error.name });
    return server;
  }
}

function capabilitiesOf(changes: boolean, completions: boolean): ServerCapabilities {
  return {
    ...(completions && { completions: {} }),
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
