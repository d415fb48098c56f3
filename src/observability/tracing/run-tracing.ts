import { SpanKind } from '@opentelemetry/api';
import { callContext } from '../../logging/call-context.js';
import type { ExecutorObserver, RunTrace } from '../../resilience/observer.js';
import { LiveSpan } from './live-span.js';

type Ended = Parameters<RunTrace['ended']>[0];

/** How a run may end without being a failure of this server or of the source. */
const FINE: ReadonlySet<Ended> = new Set<Ended>(['success', 'cancelled', 'abandoned']);

/** What each call asks of its sources: `queue`, `connect` and `operation`, one after the other. Runs of no call have none. */
export class RunTracing implements Pick<ExecutorObserver, 'began'> {
  began(source: string): RunTrace | undefined {
    const span = callContext.getStore()?.span;
    return span instanceof LiveSpan ? new TracedRun(source, span) : undefined;
  }
}

class TracedRun implements RunTrace {
  #step: LiveSpan | undefined;
  /** The resource has not come in the very turn in which it was asked for: there was something to connect to. */
  #waited = false;

  constructor(
    private readonly source: string,
    private readonly call: LiveSpan,
  ) {}

  queued(): void {
    this.#step = this.#begin('queue', SpanKind.INTERNAL);
  }

  connecting(): void {
    this.#step?.end();
    this.#step = this.#begin('connect', SpanKind.INTERNAL);
    queueMicrotask(() => (this.#waited = true));
  }

  operating<T>(operation: () => T): T {
    // A span that is never ended is never told: the HTTP connector connects inside of its operation, and says so there.
    if (this.#waited) this.#step?.end();
    const step = (this.#step = this.#begin('operation', SpanKind.CLIENT));
    const context = callContext.getStore();
    if (context === undefined) return operation();
    return callContext.run({ ...context, span: step }, operation);
  }

  ended(outcome: Ended): void {
    const failure = FINE.has(outcome) ? undefined : outcome;
    if (this.#step === undefined) {
      this.call.event('refused', { 'mcp_corp.source': this.source, 'mcp_corp.outcome': outcome });
      return;
    }
    this.#step.set({ 'mcp_corp.outcome': outcome });
    this.#step.end(failure);
  }

  #begin(step: string, kind: SpanKind): LiveSpan {
    return this.call.child(`${step} ${this.source}`, kind, { 'mcp_corp.source': this.source });
  }
}
