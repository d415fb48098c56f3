import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client';
import type { SourceFigures } from '../../connectors/connector-registry.js';
import { AuditMetrics, type TrailFigures } from './audit-metrics.js';
import { CallMetrics } from './call-metrics.js';
import { SourceMetrics } from './source-metrics.js';

/** What is looked at for each scrape. None of it asks a source. */
export interface Figures {
  readonly sources: () => readonly SourceFigures[];
  readonly trail: () => TrailFigures;
  readonly inFlight: () => number;
}

/** The metrics of one process, in a registry of its own: two applications in one process do not mix. */
export class Metrics {
  readonly calls: CallMetrics;
  readonly sources: SourceMetrics;
  readonly #register = new Registry();
  readonly #audit: AuditMetrics;
  readonly #spans: Counter<'result'>;
  #figures: Figures | undefined;

  constructor(version: string) {
    const register = this.#register;
    const registers = [register];
    this.calls = new CallMetrics(register);
    this.sources = new SourceMetrics(register);
    this.#audit = new AuditMetrics(register);
    this.#spans = new Counter({
      name: 'mcp_corp_trace_spans_total',
      help: 'Spans handed to the collector, by whether it took them.',
      labelNames: ['result'],
      registers,
    });
    for (const result of ['exported', 'failed']) this.#spans.inc({ result }, 0);
    new Gauge({
      name: 'mcp_corp_build_info',
      help: 'Always 1; which version runs on which Node.',
      labelNames: ['version', 'node'],
      registers,
    }).set({ version, node: process.versions.node }, 1);
    collectDefaultMetrics({ register });
  }

  get contentType(): string {
    return this.#register.contentType;
  }

  /** What is there to be looked at, as soon as there is an application. */
  attach(figures: Figures): void {
    this.#figures = figures;
  }

  spansDelivered(count: number, delivered: boolean): void {
    this.#spans.inc({ result: delivered ? 'exported' : 'failed' }, count);
  }

  /** In Prometheus's text format. */
  async text(): Promise<string> {
    if (this.#figures !== undefined) {
      const { sources, trail, inFlight } = this.#figures;
      this.sources.refresh(sources());
      this.#audit.refresh(trail());
      this.calls.refresh(inFlight());
    }
    return this.#register.metrics();
  }

  /** What the documentation says of each metric is checked against this. */
  async described(): Promise<{ readonly name: string; readonly help: string; readonly type: string }[]> {
    const metrics = await this.#register.getMetricsAsJSON();
    return metrics.map(({ name, help, type }) => ({ name, help, type: String(type) }));
  }
}
