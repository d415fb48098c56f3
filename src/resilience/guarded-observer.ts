import type { EventLog } from '../logging/event-log.js';
import type { ExecutorObserver } from './observer.js';

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

/**
 * The same observer, unable to hurt: a metric that throws between the answer and the return of the slot would cost the
 * source a slot for ever. What is absent stays absent, so it costs nothing.
 */
export function guarded(observer: ExecutorObserver, source: string, log: EventLog): ExecutorObserver {
  const safe: Partial<Record<keyof ExecutorObserver, (...args: unknown[]) => void>> = {};
  for (const name of CALLBACKS) {
    const callback = observer[name] as ((...args: unknown[]) => void) | undefined;
    if (callback === undefined) continue;
    safe[name] = (...args) => {
      try {
        callback.apply(observer, args);
      } catch (error) {
        log.error('observer_failed', { source, callback: name }, error);
      }
    };
  }
  return safe;
}
