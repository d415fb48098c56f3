import type { ServiceSettings } from '../config/service.settings.js';
import { VERSION } from '../config/version.js';
import type { EventLog } from '../logging/event-log.js';
import type { CallObserver, CallTracer } from '../mcp/ports.js';
import type { ExecutorObserver } from '../resilience/observer.js';
import { BearerToken } from './bearer-token.js';
import { bothCalls, bothExecutors } from './both-observers.js';
import type { MetricsSettings } from './metrics.settings.js';
import type { Metrics } from './metrics/metrics.js';
import { MetricsServer } from './metrics-server.js';
import type { TracingSettings } from './tracing.settings.js';
import type { Tracing } from './tracing/tracing.js';

export interface ObservabilityParts {
  readonly service: ServiceSettings;
  readonly metrics: MetricsSettings;
  readonly tracing: TracingSettings;
  /** Name of this process among its replicas. */
  readonly replica: string;
  /** `mcp_corp.observability`. */
  readonly log: EventLog;
}

/**
 * What an operator looks at. Law: what is off is not there. Its package is not loaded, its port is not bound, and the one
 * who would tell it something finds a property that is undefined.
 */
export class Observability {
  readonly callObserver: CallObserver | undefined;
  readonly callTracer: CallTracer | undefined;
  readonly executorObserver: ExecutorObserver | undefined;
  /** Set where /metrics is on the main port. */
  readonly tokenOnMainPort: BearerToken | undefined;
  readonly #server: MetricsServer | undefined;
  readonly #tracing: Tracing | undefined;

  private constructor(
    parts: ObservabilityParts,
    readonly metrics: Metrics | undefined,
    tracing: Tracing | undefined,
  ) {
    this.#tracing = tracing;
    this.callTracer = tracing?.calls;
    this.callObserver = bothCalls(metrics?.calls, tracing?.calls);
    this.executorObserver = bothExecutors(metrics?.sources, tracing?.runs);
    if (metrics === undefined) return;
    const { port, bearerToken } = parts.metrics;
    const token = bearerToken === undefined ? undefined : new BearerToken(bearerToken);
    if (port === undefined) this.tokenOnMainPort = token;
    else
      this.#server = new MetricsServer({ host: parts.service.host, port, token, exposition: metrics, log: parts.log });
  }

  static async of(parts: ObservabilityParts): Promise<Observability> {
    const { port, bearerToken } = parts.metrics;
    const counted = port !== undefined || bearerToken !== undefined;
    const metrics = counted ? new (await import('./metrics/metrics.js')).Metrics(VERSION) : undefined;
    return new Observability(parts, metrics, await tracingOf(parts, metrics));
  }

  /** Binds the port of the metrics, where they have one. Rejects with the system's error. */
  async listen(): Promise<void> {
    await this.#server?.listen();
  }

  /** After the sources, before the audit (architecture §8). In bounded time; never rejects; idempotent. */
  async close(): Promise<void> {
    await Promise.all([this.#server?.close(), this.#tracing?.close()]);
  }
}

async function tracingOf(
  { service, tracing, replica, log }: ObservabilityParts,
  metrics: Metrics | undefined,
): Promise<Tracing | undefined> {
  const url = tracing.url();
  if (url === undefined) return undefined;
  const { Tracing: OfOpenTelemetry } = await import('./tracing/tracing.js');
  return new OfOpenTelemetry({
    url,
    sampleRatio: tracing.sampleRatio,
    service: service.serviceName,
    version: VERSION,
    environment: service.environment,
    replica,
    log,
    delivered: (spans, delivered) => metrics?.spansDelivered(spans, delivered),
  });
}
