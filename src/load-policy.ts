import { governable, type Parts } from './app.module.js';
import type { Settings } from './config/settings.js';
import { variableOf } from './config/setting.js';
import { Current } from './governance/current.js';
import { GovernanceSettings } from './governance/governance.settings.js';
import { CatalogueMissingError, loadServed, type Discover } from './governance/load-served.js';
import { logDiagnostics } from './governance/policy-log.js';
import type { ReloadParts } from './governance/reload.js';
import { PolicyUnreachableError, type ServedPolicy } from './governance/served-policy.js';
import { DeclaredCatalogueError } from './governance/upstreams/declared-catalogue.js';
import { discover, DiscoveryError } from './governance/upstreams/discovery.js';
import { endpoints } from './governance/upstreams/endpoints.js';
import { UpstreamsSettings } from './governance/upstreams/upstreams.settings.js';
import type { EventLog } from './logging/event-log.js';
import { systemClock } from './resilience/clock.js';

/** Exit codes of a process that must not serve without its policy. */
const EXIT = { policy: 1, configuration: 2, cannotStart: 3 } as const;

export interface LoadedAtStart {
  readonly served: Current<ServedPolicy>;
  readonly reload: ReloadParts['load'];
}

/**
 * The policy that is to be obeyed and what its upstreams have, checked whole, or the exit code of a process that must not
 * serve: 1 for a policy with errors, 2 when nobody said where the catalogue comes from, 3 for what cannot be read or reached.
 */
export async function loadAtStart(
  settings: Settings,
  parts: Parts,
  log: EventLog,
  signal: AbortSignal,
): Promise<LoadedAtStart | { readonly exit: number }> {
  const { policy: path = '', catalog, mtlsHeader } = settings.get(GovernanceSettings);
  const file = { path, catalog, local: governable(parts) };
  try {
    const loaded = await loadServed({ ...file, discover: discoverBy(settings.get(UpstreamsSettings), signal) });
    logDiagnostics(log, loaded, mtlsHeader !== undefined);
    const { policy, version, locate, tools } = loaded;
    if (policy === undefined) return { exit: EXIT.policy };
    for (const [upstream, all] of tools) log.info('upstream_catalogue', { upstream, tools: all.length });
    return {
      served: new Current<ServedPolicy>({ policy, version, locate, tools }),
      reload: (running, check) => {
        const known: Discover = async (wanted) => new Map([...running].filter(([id]) => wanted.has(id)));
        return loadServed({ ...file, discover: known, check });
      },
    };
  } catch (error) {
    return { exit: refusalOf(error, log) };
  }
}

/** Asks the upstreams of a policy what they have; the same for a start and for `mcp-corp catalog`. */
export const discoverBy =
  (settings: UpstreamsSettings, signal: AbortSignal): Discover =>
  (upstreams) =>
    discover(upstreams, {
      ...{ endpointOf: endpoints(settings), clock: systemClock, signal },
      limitMs: 1000 * settings.connectTimeoutSeconds,
    });

function refusalOf(error: unknown, log: EventLog): number {
  const catalog = variableOf(GovernanceSettings, 'catalog');
  if (error instanceof CatalogueMissingError) {
    const problem = 'must be discover or name a declared catalogue: the policy has remote upstreams';
    log.error('configuration_error', { variable: catalog, problem });
    return EXIT.configuration;
  }
  if (error instanceof PolicyUnreachableError) {
    const detail = `correct ${variableOf(GovernanceSettings, 'policy')}, ${catalog} or what it names`;
    log.error('policy_unreachable', { code: error.code, detail });
  } else if (error instanceof DeclaredCatalogueError) log.error('catalogue_unintelligible', { detail: error.message });
  else if (error instanceof DiscoveryError) {
    const { upstream, problem, code, message } = error;
    log.error('upstream_discovery_failed', { upstream, problem, code, detail: message });
  } else throw error;
  return EXIT.cannotStart;
}
