import { Counter, Gauge, type Registry } from 'prom-client';
import type { SourceFigures } from '../../connectors/connector-registry.js';

interface Mapped<M> {
  readonly metric: M;
  /** Key of the figure that a connector gives (spec §2.3). */
  readonly key: string;
  readonly factor: number;
}

/** The connections of the sources that pool them, and what the server has left for them. */
export class PoolMetrics {
  readonly #gauges: readonly Mapped<Gauge<'source'>>[];
  readonly #counters: readonly Mapped<Counter<'source'>>[];
  readonly #needed: Gauge<'source'>;
  readonly #available: Gauge<'source'>;

  constructor(register: Registry) {
    const labelNames = ['source'] as const;
    const registers = [register];
    const gauge = (name: string, help: string) => new Gauge({ name, help, labelNames, registers });
    const counter = (name: string, help: string) => new Counter({ name, help, labelNames, registers });
    const of = <M>(metric: M, key: string, factor = 1): Mapped<M> => ({ metric, key, factor });

    this.#gauges = [
      of(gauge('mcp_corp_source_pool_connections', 'Connections that are open.'), 'pool_size'),
      of(gauge('mcp_corp_source_pool_idle_connections', 'Connections that nobody uses.'), 'pool_available'),
      of(gauge('mcp_corp_source_pool_max_connections', 'Connections that may ever be open at a time.'), 'pool_max'),
      of(gauge('mcp_corp_source_pool_waiting', 'Calls with a slot that wait for a connection.'), 'requests_waiting'),
    ];
    this.#counters = [
      of(counter('mcp_corp_source_pool_connects_total', 'Connections that were begun.'), 'connections_num'),
      of(
        counter('mcp_corp_source_pool_connect_seconds_total', 'Time spent opening connections.'),
        'connections_ms',
        0.001,
      ),
      of(
        counter('mcp_corp_source_pool_connect_errors_total', 'Connections that could not be opened.'),
        'connections_errors',
      ),
      of(
        counter('mcp_corp_source_pool_lost_connections_total', 'Idle connections that were lost.'),
        'connections_lost',
      ),
      of(
        counter('mcp_corp_source_pool_discarded_connections_total', 'Connections that were not fit to be used again.'),
        'returns_bad',
      ),
    ];
    this.#needed = gauge(
      'mcp_corp_source_connection_budget_needed',
      'Connections that all replicas together may open (REPLICAS × pool size).',
    );
    this.#available = gauge(
      'mcp_corp_source_connection_budget_available',
      'Connections that the database had left for them when it was first connected.',
    );
  }

  refresh(sources: readonly SourceFigures[]): void {
    // The figures are totals since the start: the counter takes them over, it does not count by itself.
    for (const { metric } of this.#counters) metric.reset();
    for (const { source, pool, more } of sources) {
      if ('pool_max' in pool) {
        for (const { metric, key, factor } of this.#gauges) metric.set({ source }, (pool[key] ?? 0) * factor);
        for (const { metric, key, factor } of this.#counters) metric.inc({ source }, (pool[key] ?? 0) * factor);
      }
      const { budget } = more;
      if (typeof budget !== 'object' || budget === null || !('needed' in budget && 'available' in budget)) continue;
      this.#needed.set({ source }, Number(budget.needed));
      this.#available.set({ source }, Number(budget.available));
    }
  }
}
