import { setTimeout as delay } from 'node:timers/promises';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { SourceResolver } from '../../connectors/source-resolver.js';
import type { EventLog } from '../../logging/event-log.js';
import { CallTracing } from './call-tracing.js';
import { RunTracing } from './run-tracing.js';
import { ToldExporter, type Delivered } from './told-exporter.js';

export interface TracingOptions {
  /** URL of the collector's traces, OTLP over HTTP. */
  readonly url: string;
  readonly sampleRatio: number;
  readonly service: string;
  readonly version: string;
  readonly environment: string;
  /** Name of this process among its replicas. */
  readonly replica: string;
  readonly log: EventLog;
  /** Longest time of one export, milliseconds. */
  readonly exportMs?: number;
  readonly delivered: Delivered;
}

/** Spans that may wait for the collector; what comes beyond is dropped, never waited for. */
const MOST_WAITING = 4_096;
const BATCH = 512;
const EVERY_MS = 1_000;
const EXPORT_MS = 5_000;
/** At the end of the process, for what is left. */
const LAST_SPANS_MS = 1_500;

/**
 * OpenTelemetry's SDK, alone in this folder, which is loaded only where calls are traced. Nothing of it is global: no
 * context manager, no propagator, no provider.
 */
export class Tracing {
  readonly calls: CallTracing;
  readonly runs = new RunTracing();
  readonly #provider: TracerProvider;

  constructor(private readonly options: TracingOptions) {
    const { url, sampleRatio, service, version, environment, replica, log, delivered } = options;
    const { exportMs = EXPORT_MS } = options;
    // A resolver of its own (law 9): a collector whose name hangs must not hold the threads that sources need.
    const { lookup } = new SourceResolver();
    const exporter = new OTLPTraceExporter({
      url,
      timeoutMillis: exportMs,
      httpAgentOptions: { keepAlive: true, maxSockets: 1, ...{ lookup } },
    });
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({
        'service.name': service,
        'service.version': version,
        'service.instance.id': replica,
        'deployment.environment.name': environment,
      }),
      sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampleRatio) }),
      spanProcessors: [
        new BatchSpanProcessor({
          exporter: new ToldExporter(exporter, log, delivered),
          maxQueueSize: MOST_WAITING,
          maxExportBatchSize: BATCH,
          scheduledDelayMillis: EVERY_MS,
          exportTimeoutMillis: exportMs,
        }),
      ],
    });
    this.calls = new CallTracing(this.#provider.getTracer('mcp-corp', version));
  }

  /** Sends what is left, in bounded time. Never rejects. */
  async close(): Promise<void> {
    const sent = this.#provider.shutdown().catch((error: unknown) => {
      this.options.log.warning('trace_export_failed', { error: error instanceof Error ? error.name : 'unknown' });
    });
    await Promise.race([sent, delay(LAST_SPANS_MS, undefined, { ref: false })]);
  }
}
