import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { McpCall } from '../../mcp/call.js';
import type { CallEnding } from '../../mcp/observation.js';
import type { CallObserver } from '../../mcp/ports.js';
import { BoundedLabel } from './bounded-label.js';

/** From a source that answers at once to the longest deadline that makes sense, in seconds. */
export const DURATION_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Names of a catalogue, the upstreams' included; codes there are fewer than fifty (docs/codes.md). */
const MOST_NAMES = 2_000;
const MOST_REASONS = 100;

/** The reason of a call for which there is none. */
const NO_REASON = 'none';

/**
 * Calls as the audit sees them end. The name is that of the catalogue, `unknown` for everything that is not in it: nothing
 * of a caller is in a label.
 */
export class CallMetrics implements CallObserver {
  readonly #names = new BoundedLabel(MOST_NAMES);
  readonly #reasons = new BoundedLabel(MOST_REASONS);
  readonly #calls: Counter<'kind' | 'name' | 'result' | 'reason'>;
  readonly #duration: Histogram<'kind' | 'name'>;
  readonly #inFlight: Gauge;

  constructor(register: Registry) {
    const registers = [register];
    this.#calls = new Counter({
      name: 'mcp_corp_calls_total',
      help: 'Calls of tools, resources and prompts that have ended, by result and stable code.',
      labelNames: ['kind', 'name', 'result', 'reason'],
      registers,
    });
    this.#duration = new Histogram({
      name: 'mcp_corp_call_duration_seconds',
      help: 'Time of a call from its first audit record to its last.',
      labelNames: ['kind', 'name'],
      buckets: DURATION_BUCKETS,
      registers,
    });
    this.#inFlight = new Gauge({
      name: 'mcp_corp_calls_in_flight',
      help: 'Requests on /mcp that are being answered; a batch counts for each of its messages.',
      registers,
    });
  }

  ended({ kind, name: called }: McpCall, { result, reason }: CallEnding, durationSeconds: number): void {
    const name = this.#names.of(called);
    this.#calls.inc({ kind, name, result, reason: this.#reasons.of(reason ?? NO_REASON) });
    this.#duration.observe({ kind, name }, durationSeconds);
  }

  refresh(inFlight: number): void {
    this.#inFlight.set(inFlight);
  }
}
