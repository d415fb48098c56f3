import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { SourceFigures } from '../../connectors/connector-registry.js';
import type {
  CallOutcome,
  CircuitStateName,
  ExecutorObserver,
  ProbeOutcome,
  RefusalCode,
} from '../../resilience/observer.js';
import { DURATION_BUCKETS } from './call-metrics.js';
import { PoolMetrics } from './pool-metrics.js';

/** Waits are bounded by the acquire timeout, seconds; most calls do not wait at all. */
const WAIT_BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Every value of a label exists from the start: a rate over something that has never happened is 0, not "no data". */
const OUTCOMES: Readonly<Record<CallOutcome, true>> = {
  ...{ success: true, cancelled: true, bug: true },
  ...{ timeout: true, unavailable: true, rejected: true, rate_limited: true },
};
const REFUSALS: Readonly<Record<RefusalCode, true>> = {
  ...{ circuit_open: true, saturated: true, rate_limited: true, unavailable: true },
};
const PROBES: Readonly<Record<ProbeOutcome, true>> = { success: true, failure: true, skipped: true };
const STATES: readonly CircuitStateName[] = ['closed', 'half_open', 'open'];

/** One executor for each source, as it is (gauges, read at each scrape) and as it was (counters, told by it). */
export class SourceMetrics implements ExecutorObserver {
  readonly #operations: Counter<'source' | 'outcome'>;
  readonly #duration: Histogram<'source'>;
  readonly #wait: Histogram<'source'>;
  readonly #queuedCalls: Counter<'source'>;
  readonly #refusals: Counter<'source' | 'code'>;
  readonly #abandoned: Counter<'source'>;
  readonly #transitions: Counter<'source' | 'from' | 'to'>;
  readonly #kills: Counter<'source'>;
  readonly #probes: Counter<'source' | 'outcome'>;
  readonly #inFlight: Gauge<'source'>;
  readonly #queued: Gauge<'source'>;
  readonly #settling: Gauge<'source'>;
  readonly #slots: Gauge<'source'>;
  readonly #circuit: Gauge<'source' | 'state'>;
  readonly #pool: PoolMetrics;
  readonly #known = new Set<string>();

  constructor(register: Registry) {
    const registers = [register];
    const bySource = ['source'] as const;
    const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
      new Counter({ name, help, labelNames, registers });
    const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
      new Gauge({ name, help, labelNames, registers });
    const histogram = (name: string, help: string, buckets: number[]) =>
      new Histogram({ name, help, labelNames: bySource, buckets, registers });

    this.#operations = counter(
      'mcp_corp_source_operations_total',
      'Operations that began, by how they ended for their caller.',
      ['source', 'outcome'],
    );
    this.#duration = histogram(
      'mcp_corp_source_operation_duration_seconds',
      'Time of an operation from its slot to the answer of its caller; connecting is inside it.',
      DURATION_BUCKETS,
    );
    this.#wait = histogram(
      'mcp_corp_source_wait_seconds',
      'Time from the arrival of a call to its slot, of the calls that got one.',
      WAIT_BUCKETS,
    );
    this.#queuedCalls = counter(
      'mcp_corp_source_queued_calls_total',
      'Calls that had to wait for a token or a slot.',
      bySource,
    );
    this.#refusals = counter('mcp_corp_source_refusals_total', 'Calls that were refused before they began, by code.', [
      'source',
      'code',
    ]);
    this.#abandoned = counter(
      'mcp_corp_source_abandoned_total',
      'Calls whose caller left before they began.',
      bySource,
    );
    this.#transitions = counter('mcp_corp_source_circuit_transitions_total', 'Changes of the circuit breaker.', [
      'source',
      'from',
      'to',
    ]);
    this.#kills = counter(
      'mcp_corp_source_kills_total',
      'Operations whose connection was destroyed, because they ignored the polite signal for the whole grace.',
      bySource,
    );
    this.#probes = counter('mcp_corp_source_probes_total', 'Background probes of a source that is down, by outcome.', [
      'source',
      'outcome',
    ]);
    this.#inFlight = gauge('mcp_corp_source_in_flight', 'Slots held, settling ones included.', bySource);
    this.#queued = gauge('mcp_corp_source_queued', 'Calls that wait for a token or a slot.', bySource);
    this.#settling = gauge(
      'mcp_corp_source_settling',
      'Slots whose caller was answered and whose resource is not back.',
      bySource,
    );
    this.#slots = gauge('mcp_corp_source_slots', 'Slots there are: the maximum concurrency of this replica.', bySource);
    this.#circuit = gauge('mcp_corp_source_circuit_state', 'State of the circuit breaker: 1 for the one it is in.', [
      'source',
      'state',
    ]);
    this.#pool = new PoolMetrics(register);
  }

  queued(source: string): void {
    this.#queuedCalls.inc({ source });
  }

  started(source: string, waitSeconds: number): void {
    this.#wait.observe({ source }, waitSeconds);
  }

  settled(source: string, outcome: CallOutcome, durationSeconds: number): void {
    this.#operations.inc({ source, outcome });
    this.#duration.observe({ source }, durationSeconds);
  }

  refused(source: string, code: RefusalCode): void {
    this.#refusals.inc({ source, code });
  }

  abandoned(source: string): void {
    this.#abandoned.inc({ source });
  }

  stateChanged(source: string, from: CircuitStateName, to: CircuitStateName): void {
    this.#transitions.inc({ source, from, to });
  }

  killed(source: string): void {
    this.#kills.inc({ source });
  }

  probed(source: string, outcome: ProbeOutcome): void {
    this.#probes.inc({ source, outcome });
  }

  refresh(sources: readonly SourceFigures[]): void {
    for (const figures of sources) {
      const { source, circuit_state: current } = figures;
      this.#introduce(source);
      this.#inFlight.set({ source }, figures.in_flight);
      this.#queued.set({ source }, figures.queued);
      this.#settling.set({ source }, figures.settling);
      this.#slots.set({ source }, figures.max_concurrency);
      for (const state of STATES) this.#circuit.set({ source, state }, state === current ? 1 : 0);
    }
    this.#pool.refresh(sources);
  }

  #introduce(source: string): void {
    if (this.#known.has(source)) return;
    this.#known.add(source);
    for (const outcome in OUTCOMES) this.#operations.inc({ source, outcome }, 0);
    for (const code in REFUSALS) this.#refusals.inc({ source, code }, 0);
    for (const outcome in PROBES) this.#probes.inc({ source, outcome }, 0);
    for (const counter of [this.#queuedCalls, this.#abandoned, this.#kills]) counter.inc({ source }, 0);
    for (const from of STATES) for (const to of STATES) if (from !== to) this.#transitions.inc({ source, from, to }, 0);
  }
}
