import type { CallObserver } from '../mcp/ports.js';
import type { ExecutorObserver } from '../resilience/observer.js';

/** Metrics and traces together; the one that is absent costs nothing. */
export function bothCalls(
  counting: CallObserver | undefined,
  tracing: CallObserver | undefined,
): CallObserver | undefined {
  if (counting === undefined || tracing === undefined) return counting ?? tracing;
  return {
    ended: (call, ending, seconds) => {
      counting.ended(call, ending, seconds);
      tracing.ended(call, ending, seconds);
    },
  };
}

/** The metrics count; a tracer follows runs (`began`) and needs nothing else. */
export function bothExecutors(
  counting: ExecutorObserver | undefined,
  tracing: Pick<ExecutorObserver, 'began'> | undefined,
): ExecutorObserver | undefined {
  if (counting === undefined || tracing === undefined) return counting ?? tracing;
  return {
    began: (source) => tracing.began?.(source),
    queued: (source) => counting.queued?.(source),
    started: (source, wait) => counting.started?.(source, wait),
    settled: (source, outcome, duration, wait) => counting.settled?.(source, outcome, duration, wait),
    refused: (source, code, wait) => counting.refused?.(source, code, wait),
    abandoned: (source, wait) => counting.abandoned?.(source, wait),
    stateChanged: (source, from, to) => counting.stateChanged?.(source, from, to),
    killed: (source) => counting.killed?.(source),
    probed: (source, outcome) => counting.probed?.(source, outcome),
  };
}
