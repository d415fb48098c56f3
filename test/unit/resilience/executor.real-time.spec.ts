import { describe, expect, it } from '@jest/globals';
import { OperationTimeoutError } from '../../../src/resilience/errors.js';
import { ResilientExecutor } from '../../../src/resilience/executor.js';
import { systemClock } from '../../../src/resilience/clock.js';
import { settings } from './support/harness.js';
import { RecordingLog } from './support/recording-log.js';
import { answersAtOnce, hangs, type Lease, scripted, ScriptedSource } from './support/scripted-source.js';

function executor(source: ScriptedSource, own: Partial<typeof settings>): ResilientExecutor<Lease> {
  return new ResilientExecutor({
    connector: source,
    settings: { ...settings, maxQueue: 1000, failureThreshold: 1000, ...own },
    log: new RecordingLog(),
  });
}

describe('on the real clock', () => {
  it('keeps to its concurrency and serves everybody', async () => {
    const source = new ScriptedSource(systemClock);
    const real = executor(source, { maxConcurrency: 4, acquireTimeoutMs: 20_000, callDeadlineMs: 30_000 });
    const calls = Array.from({ length: 100 }, (_, n) =>
      real.run(...scripted({ ...answersAtOnce, answerMs: 1 + (n % 5) }, `${n}`)),
    );
    await Promise.all(calls);
    expect(source.mostLive).toBe(4);
    expect(source.uses.map((use) => Number(use.label))).toEqual(Array.from({ length: 100 }, (_, n) => n));
    await real.close();
  });

  it('answers within 50 ms of the limit', async () => {
    const source = new ScriptedSource(systemClock);
    const real = executor(source, { maxConcurrency: 50, operationTimeoutMs: 100 });
    const lateness: number[] = [];
    for (let n = 0; n < 9; n += 1) {
      // A plain timer beside it, so that a machine that stops us is not taken for an executor that is late.
      const limit = new Promise<number>((resolve) => setTimeout(() => resolve(performance.now()), 100));
      const answered = real.run(...scripted(hangs)).catch((error: unknown) => ({ error, at: performance.now() }));
      const [due, answer] = await Promise.all([limit, answered]);
      expect(answer).toMatchObject({ error: expect.any(OperationTimeoutError) as never });
      lateness.push((answer as { at: number }).at - due);
    }
    expect(lateness.sort((a, b) => a - b)[4]).toBeLessThan(50);
    await real.close();
    expect(real.snapshot()).toMatchObject({ in_flight: 0, settling: 0 });
  });
});
