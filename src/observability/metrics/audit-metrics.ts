import { Counter, Gauge, type Registry } from 'prom-client';

/** What the audit tells of itself; counts are since the start. The structural twin of its own. */
export interface TrailFigures {
  readonly open: number;
  readonly records: number;
  readonly lostRecords: number;
  readonly refusedCalls: number;
  readonly unwrittenBytes: number;
  readonly failing: boolean;
}

/** Whether what happens is also on record. */
export class AuditMetrics {
  readonly #totals: readonly { readonly metric: Counter; readonly of: (figures: TrailFigures) => number }[];
  readonly #gauges: readonly { readonly metric: Gauge; readonly of: (figures: TrailFigures) => number }[];

  constructor(register: Registry) {
    const registers = [register];
    const total = (name: string, help: string, of: (figures: TrailFigures) => number) => ({
      metric: new Counter({ name, help, registers }),
      of,
    });
    const gauge = (name: string, help: string, of: (figures: TrailFigures) => number) => ({
      metric: new Gauge({ name, help, registers }),
      of,
    });
    this.#totals = [
      total('mcp_corp_audit_records_total', 'Audit records handed over to the trail.', ({ records }) => records),
      total(
        'mcp_corp_audit_lost_records_total',
        'Audit records that the trail does not hold.',
        ({ lostRecords }) => lostRecords,
      ),
      total(
        'mcp_corp_audit_refused_calls_total',
        'Calls refused because they could not have been recorded.',
        ({ refusedCalls }) => refusedCalls,
      ),
    ];
    this.#gauges = [
      gauge('mcp_corp_audit_open_records', 'Calls that have begun and not ended.', ({ open }) => open),
      gauge('mcp_corp_audit_unwritten_bytes', 'Bytes of the trail not yet written.', (of) => of.unwrittenBytes),
      gauge('mcp_corp_audit_failing', '1 while the trail cannot be written.', ({ failing }) => Number(failing)),
    ];
  }

  refresh(figures: TrailFigures): void {
    for (const { metric, of } of this.#totals) {
      metric.reset();
      metric.inc(of(figures));
    }
    for (const { metric, of } of this.#gauges) metric.set(of(figures));
  }
}
