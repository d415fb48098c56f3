import type { Clock } from '../resilience/clock.js';

/** `work` under the caller's signal and a limit of its own, in milliseconds. Nothing is left behind when it settles. */
export async function within<T>(
  clock: Clock,
  milliseconds: number,
  caller: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  caller.throwIfAborted();
  const own = new AbortController();
  const leave = (): void => own.abort(caller.reason);
  caller.addEventListener('abort', leave);
  const cancel = clock.after(milliseconds, () => own.abort(new DOMException('too late', 'TimeoutError')));
  const aborted = new Promise<never>((_resolve, reject) => {
    own.signal.addEventListener('abort', () => reject(own.signal.reason as Error));
  });
  try {
    return await Promise.race([work(own.signal), aborted]);
  } finally {
    cancel();
    caller.removeEventListener('abort', leave);
  }
}
