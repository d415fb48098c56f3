import { AsyncLocalStorage } from 'node:async_hooks';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { EventLog } from '../../logging/event-log.js';

type Report = Parameters<SpanExporter['export']>[1];

export type Delivered = (spans: number, delivered: boolean) => void;

/** An exporter that says what became of the spans: each batch to the metrics, a change from one to the other to the log. */
export class ToldExporter implements SpanExporter {
  #failing = false;
  // A batch is sent from the context of the call that happened to end last: its correlation id belongs to no export.
  readonly #outsideCalls = AsyncLocalStorage.snapshot();

  constructor(
    private readonly exporter: SpanExporter,
    private readonly log: EventLog,
    private readonly delivered: Delivered,
  ) {}

  export(spans: ReadableSpan[], report: Report): void {
    this.#outsideCalls(() =>
      this.exporter.export(spans, (result) => {
        // 0 is ExportResultCode.SUCCESS.
        const failed = Number(result.code) !== 0;
        this.delivered(spans.length, !failed);
        if (failed !== this.#failing) this.#tell(failed, spans.length);
        report(result);
      }),
    );
  }

  shutdown(): Promise<void> {
    return this.exporter.shutdown();
  }

  forceFlush(): Promise<void> {
    return this.exporter.forceFlush?.() ?? Promise.resolve();
  }

  /** Nothing of the error: its text may quote what the collector answered. */
  #tell(failed: boolean, spans: number): void {
    this.#failing = failed;
    if (failed) this.log.warning('trace_export_failed', { spans });
    else this.log.info('trace_export_recovered', { spans });
  }
}
