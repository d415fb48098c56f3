import { environmentSecrets, type EnvironmentSecrets } from '../../config/environment-secrets.js';
import { VERSION } from '../../config/version.js';
import { endpointOf, type UpstreamEndpoint } from '../../connectors/mcp/endpoint.js';
import { systemClock, type Clock } from '../../resilience/clock.js';
import type { RemoteTransport } from './upstream-tools.js';
import type { UpstreamsSettings } from './upstreams.settings.js';

/** An upstream that has not said by then which revision it speaks is taken for an older one, or for silent. Milliseconds. */
const PROBE_MS = 5_000;

export const endpoints =
  (
    { maxConcurrency, maxResultBytes: maxBytes }: UpstreamsSettings,
    clock: Clock = systemClock,
    environment: EnvironmentSecrets = environmentSecrets(),
  ) =>
  (transport: RemoteTransport): UpstreamEndpoint =>
    endpointOf({
      ...{ transport, maxConcurrency, maxBytes, clock, probeMs: PROBE_MS, path: environment('PATH') },
      client: { name: 'mcp-corp', version: VERSION },
    });
