import { type Clock } from '../resilience/clock.js';

export class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError';
  readonly code = 'ETIMEDOUT';

  constructor() {
    super('the time for it is over');
  }
}

export interface Bounds {
  readonly clock: Clock;
  /** Milliseconds. */
  readonly limitMs: number;
  /** Ends the wait earlier. */
  readonly signal?: AbortSignal;
}

/**
 * The outcome of `work`, or a TimeLimitError when the limit or the signal comes first: then `work`'s own signal is
 * aborted and nobody waits for it any more, whether it obeys or not.
 */
export async function bounded<T>(
  work: (signal: AbortSignal) => Promise<T>,
  { clock, limitMs, signal }: Bounds,
): Promise<T> {
  const controller = new AbortController();
  let giveUp = (): void => undefined;
  const late = new Promise<never>((_resolve, reject) => {
    giveUp = () => {
      controller.abort();
      reject(new TimeLimitError());
    };
  });
  const cancel = clock.after(limitMs, giveUp);
  signal?.addEventListener('abort', giveUp);
  try {
    if (signal?.aborted) giveUp();
    return await Promise.race([late, work(controller.signal)]);
  } finally {
    cancel();
    signal?.removeEventListener('abort', giveUp);
  }
}
