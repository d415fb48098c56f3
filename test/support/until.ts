import { setTimeout as delay } from 'node:timers/promises';

/** Waits for something that happens outside this process and has no event to listen to. Rejects after `milliseconds`. */
export async function until(look: () => Promise<boolean> | boolean, milliseconds = 10_000): Promise<void> {
  const end = performance.now() + milliseconds;
  while (!(await look())) {
    if (performance.now() > end) throw new Error(`not so in ${milliseconds} ms`);
    await delay(10);
  }
}
