import type { UpstreamEndpoint } from '../../connectors/mcp/endpoint.js';
import { digestOf } from '../../connectors/mcp/tool-definition.js';
import { bounded } from '../../connectors/bounded.js';
import type { Clock } from '../../resilience/clock.js';
import { upstreamTool, type RemoteTransport, type UpstreamTool, type UpstreamTools } from './upstream-tools.js';

/** `unreachable`: it did not answer. `unintelligible`: what it answered is no list of tools. `credential`: it wants one. */
export type DiscoveryProblem = 'unreachable' | 'unintelligible' | 'credential';

export class DiscoveryError extends Error {
  override readonly name = 'DiscoveryError';

  constructor(
    readonly upstream: string,
    readonly problem: DiscoveryProblem,
    /** Of the connector's error, such as `ECONNREFUSED`. */
    readonly code: string,
  ) {
    super(`the upstream '${upstream}' ${TEXTS[problem]} (${code})`);
  }
}

const TEXTS: Readonly<Record<DiscoveryProblem, string>> = {
  unreachable: 'does not answer',
  unintelligible: 'answers with a list of tools that cannot be understood',
  credential: 'wants a credential to list its tools: use a declared catalogue (--catalog)',
};

export interface DiscoveryOptions {
  readonly endpointOf: (transport: RemoteTransport) => UpstreamEndpoint;
  readonly clock: Clock;
  /** Longest time for one upstream. Milliseconds. */
  readonly limitMs: number;
  readonly signal: AbortSignal;
}

/**
 * Law (spec §5.1): once, at the start, one upstream after the other, without a credential, every page. The first that fails
 * ends it: a list is whole or there is none. Nothing is open and no child is left when this settles. Rejects with a DiscoveryError.
 */
export async function discover(
  upstreams: ReadonlyMap<string, RemoteTransport>,
  options: DiscoveryOptions,
): Promise<UpstreamTools> {
  const found = new Map<string, readonly UpstreamTool[]>();
  for (const [upstream, transport] of upstreams) found.set(upstream, await toolsOf(upstream, transport, options));
  return found;
}

async function toolsOf(
  upstream: string,
  transport: RemoteTransport,
  { endpointOf, clock, limitMs, signal }: DiscoveryOptions,
): Promise<readonly UpstreamTool[]> {
  const endpoint = endpointOf(transport);
  // Awaited whatever comes first: a child that is being started must be gone before the process says why it ends.
  const closing: Promise<unknown>[] = [];
  try {
    const definitions = await bounded(
      (limit) => {
        const listing = endpoint.open(undefined, limit).then(async (session) => {
          try {
            return await session.tools(undefined, limit);
          } finally {
            await session.close();
          }
        });
        closing.push(listing.catch(() => undefined));
        return listing;
      },
      { clock, limitMs, signal },
    );
    return definitions.map((definition) => upstreamTool(definition, digestOf(definition)));
  } catch (error) {
    await Promise.all(closing);
    throw new DiscoveryError(upstream, ...problemOf(error));
  } finally {
    endpoint.close();
  }
}

function problemOf(error: unknown): readonly [DiscoveryProblem, string] {
  const { name, code } = error as { name?: unknown; code?: unknown };
  const text = typeof code === 'string' ? code : 'UNKNOWN';
  if (text === 'ACCOUNT_REFUSED' || text === 'HTTP_401' || text === 'HTTP_403') return ['credential', text];
  return [
    name === 'UnintelligibleListError' || /^RPC_|^UNREADABLE$/.test(text) ? 'unintelligible' : 'unreachable',
    text,
  ];
}
