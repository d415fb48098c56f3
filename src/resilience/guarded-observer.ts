import type { EventLog } from '../logging/event-log.js';
import type { ExecutorObserver, RunTrace } from './observer.js';

const CALLBACKS = [
  'queued',
  'started',
  'settled',
  'refused',
  'abandoned',
  'stateChanged',
  'settlingChanged',
  'killed',
  'probed',
] as const satisfies readonly (keyof ExecutorObserver)[];

type Attempt = (callback: string, call: () => void) => void;

/**
 * The same observer, unable to hurt: a metric that throws between the answer and the return of the slot would cost the
 * source a slot for ever. What is absent stays absent, so it costs nothing.
 */
export function guarded(observer: ExecutorObserver, source: string, log: EventLog): ExecutorObserver {
  const attempt: Attempt = (callback, call) => {
    try {
      call();
    } catch (error) {
      log.error('observer_failed', { source, callback }, error);
    }
  };
  const safe: Partial<Record<keyof ExecutorObserver, (...args: unknown[]) => unknown>> = {};
  for (const name of CALLBACKS) {
    const callback = observer[name] as ((...args: unknown[]) => void) | undefined;
    if (callback === undefined) continue;
    safe[name] = (...args) => attempt(name, () => callback.apply(observer, args));
  }
  if (observer.began !== undefined) {
    safe.began = () => {
      let trace: RunTrace | undefined;
      attempt('began', () => (trace = observer.began?.(source)));
      return trace && new GuardedTrace(trace, attempt);
    };
  }
  return safe as ExecutorObserver;
}

class GuardedTrace implements RunTrace {
  constructor(
    private readonly trace: RunTrace,
    private readonly attempt: Attempt,
  ) {}

  queued(): void {
    this.attempt('trace.queued', () => this.trace.queued());
  }

  connecting(): void {
    this.attempt('trace.connecting', () => this.trace.connecting());
  }

  /** The operation runs exactly once, whatever becomes of its span; its own error is its own. */
  operating<T>(operation: () => T): T {
    let answer: { readonly value: T } | { readonly error: unknown } | undefined;
    const once = (): T => {
      try {
        const value = operation();
        answer = { value };
        return value;
      } catch (error) {
        answer = { error };
        throw error;
      }
    };
    this.attempt('trace.operating', () => {
      try {
        this.trace.operating(once);
      } catch (error) {
        if (answer === undefined || !('error' in answer) || answer.error !== error) throw error;
      }
    });
    if (answer === undefined) return operation();
    if ('error' in answer) throw answer.error;
    return answer.value;
  }

  ended(outcome: Parameters<RunTrace['ended']>[0]): void {
    this.attempt('trace.ended', () => this.trace.ended(outcome));
  }
}
