import type { ConnectorRegistry } from '../../connectors/connector-registry.js';
import type { UpstreamEndpoint } from '../../connectors/mcp/endpoint.js';
import { McpConnector } from '../../connectors/mcp/mcp-connector.js';
import type { UpstreamLease } from '../../connectors/mcp/tool-call.js';
import type { EventLog } from '../../logging/event-log.js';
import type { CompiledEntry } from '../../mcp/catalogue-entry.js';
import type { CatalogueSource } from '../../mcp/ports.js';
import type { ResilientExecutor } from '../../resilience/executor.js';
import { exposedName, type Policy } from '../core/index.js';
import { upstreamEntry } from './upstream-entry.js';
import type { RemoteTransport, UpstreamTool, UpstreamTools } from './upstream-tools.js';
import type { UpstreamsSettings } from './upstreams.settings.js';

export interface UpstreamsOptions {
  readonly upstreams: ReadonlyMap<string, RemoteTransport>;
  readonly tools: UpstreamTools;
  readonly settings: UpstreamsSettings;
  readonly registry: ConnectorRegistry;
  readonly endpointOf: (transport: RemoteTransport) => UpstreamEndpoint;
  /** `mcp_corp.governance` and `mcp_corp.connectors`. */
  readonly log: EventLog;
  readonly connectorLog: EventLog;
}

/** Names that all large clients accept; a mapping of another one is an error of the policy. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

interface Upstream {
  readonly connector: McpConnector;
  readonly executor: ResilientExecutor<UpstreamLease>;
  /** Tools that were not what they are pinned to when they were last called. */
  readonly drifted: Set<string>;
  /** As far as it is served now. */
  tools: readonly UpstreamTool[];
}

/** The remote upstreams of this process: fixed at the start, each behind an executor of its own, whatever a reload brings. */
export class Upstreams implements CatalogueSource {
  readonly #upstreams = new Map<string, Upstream>();

  constructor(private readonly options: UpstreamsOptions) {
    const { registry, settings, endpointOf, connectorLog: log } = options;
    for (const [name, transport] of options.upstreams) {
      const drifted = new Set<string>();
      const connector = new McpConnector({
        ...{ name, log, endpoint: endpointOf(transport) },
        openMs: 1000 * settings.connectTimeoutSeconds,
        maxSessions: settings.maxSessions,
        idleMs: 1000 * settings.sessionIdleSeconds,
        verifyMs: 1000 * settings.verifySeconds,
      });
      const upstream: Upstream = {
        ...{ connector, drifted, tools: options.tools.get(name) ?? [] },
        executor: registry.register(connector, settings, {
          diagnostics: () => ({ definitions: definitionsOf(upstream) }),
        }),
      };
      this.#upstreams.set(name, upstream);
      for (const tool of upstream.tools) this.#report(name, tool);
    }
  }

  entries(): readonly CompiledEntry[] {
    return this.entriesOf(this.options.tools);
  }

  /** All tools, the ones that no mapping covers too: a reload may map them. */
  entriesOf(tools: UpstreamTools): readonly CompiledEntry[] {
    return [...this.#upstreams].flatMap(([upstream, { executor, drifted }]) =>
      (tools.get(upstream) ?? []).flatMap((tool) => {
        const exposed = exposedName('mcp-http', upstream, tool.definition.name);
        if (!NAME.test(exposed)) return [];
        return [
          upstreamEntry(tool, {
            ...{ upstream, executor, exposedName: exposed, maxArgumentBytes: this.options.settings.maxArgumentBytes },
            seen: (name, asPinned) => this.#seen(upstream, drifted, name, asPinned),
          }),
        ];
      }),
    );
  }

  /** After a reload: what diagnostics speak of, and no session for accounts that are gone or revoked. */
  serve(tools: UpstreamTools, { accounts }: Policy): void {
    const usable = new Set<string>([...accounts.values()].filter(({ disabled }) => !disabled).map(({ id }) => id));
    for (const [name, upstream] of this.#upstreams) {
      upstream.tools = tools.get(name) ?? [];
      upstream.connector.retain((account) => usable.has(account));
    }
  }

  #seen(upstream: string, drifted: Set<string>, tool: string, asPinned: boolean): void {
    if (asPinned) drifted.delete(tool);
    else if (!drifted.has(tool)) {
      drifted.add(tool);
      this.options.log.warning('upstream_definition_changed', { upstream, tool });
    }
  }

  #report(upstream: string, { definition, problem, flaws }: UpstreamTool): void {
    if (problem === undefined) return;
    this.options.log.warning(`upstream_${problem}`, { upstream, tool: definition.name, flaws });
  }
}

function definitionsOf({ tools, drifted }: Upstream): Readonly<Record<string, unknown>> {
  const named = (wanted: UpstreamTool['problem']): string[] =>
    tools.filter(({ problem }) => problem === wanted).map(({ definition }) => definition.name);
  return {
    total: tools.length,
    changed: [...new Set([...named('definition_changed'), ...drifted])].sort(),
    unusable: named('definition_unusable').sort(),
  };
}
