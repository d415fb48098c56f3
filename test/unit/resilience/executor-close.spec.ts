import { describe, expect, it } from '@jest/globals';
import { SourceUnavailableError } from '../../../src/resilience/errors.js';
import { Harness } from './support/harness.js';
import { answersAtOnce, hangs, ignores } from './support/scripted-source.js';

describe('closing an executor', () => {
  it('refuses new and queued calls, answers running ones at once and resolves when the slots are back', async () => {
    const h = new Harness({ settings: { maxConcurrency: 2 } });
    const polite = h.call({ ...hangs, stopMs: 100 });
    const stubborn = h.call(ignores);
    const queued = h.call(answersAtOnce);
    let closedAt: number | undefined;
    const closing = h.executor.close().then(() => (closedAt = h.clock.now()));
    const late = h.call(answersAtOnce);
    await h.clock.settle();
    const start = polite.arrivedAt;
    for (const call of [polite, stubborn, queued, late]) {
      expect(call.ending).toMatchObject({ how: 'unavailable', at: start });
      expect(call.ending?.error).toBeInstanceOf(SourceUnavailableError);
    }
    expect(closedAt).toBeUndefined();
    await h.clock.advance(10_000);
    await closing;
    expect(closedAt).toBe(start + 500);
    expect(h.source.uses).toMatchObject([{ endedAt: start + 100 }, { killedAt: start + 500 }]);
    expect(h.executor.snapshot()).toMatchObject({ in_flight: 0, queued: 0, settling: 0 });
    expect(h.clock.pending).toBe(0);
  });

  it('resolves at once when nothing runs, and is one closing however often it is asked for', async () => {
    const h = new Harness();
    const closing = h.executor.close();
    expect(h.executor.close()).toBe(closing);
    await closing;
    expect(h.clock.pending).toBe(0);
    expect(await h.outcome(answersAtOnce)).toBe('unavailable');
  });

  it('ends the recovery of a source that failed at start', async () => {
    const h = new Harness();
    h.source.onConnect = () => Promise.reject(new Error('down'));
    h.executor.startFailed();
    await h.clock.advance(2000);
    await h.executor.close();
    expect(h.clock.pending).toBe(0);
    h.executor.startFailed();
    await h.clock.advance(60_000);
    expect(h.clock.pending).toBe(0);
  });

  it('aborts the question that is being asked, waits for its slot and believes no answer any more', async () => {
    const h = new Harness();
    h.executor.startFailed();
    h.source.onConnect = (signal) =>
      new Promise((resolve) => signal.addEventListener('abort', () => void h.clock.after(50, resolve)));
    await h.clock.advance(300);
    let closed = false;
    const closing = h.executor.close().then(() => (closed = true));
    await h.clock.advance(49);
    expect(closed).toBe(false);
    await h.clock.advance(1);
    await closing;
    expect(h.executor.state).toBe('open');
    expect(h.clock.pending).toBe(0);
  });

  it('plans no probe when the circuit opens while it closes', async () => {
    const h = new Harness({ settings: { failureThreshold: 1 } });
    h.call(ignores);
    const closing = h.executor.close();
    await h.clock.advance(1000);
    await closing;
    expect(h.executor.state).toBe('open');
    expect(h.clock.pending).toBe(0);
  });

  it('tells who waits for a token, and sets no timer for them any more', async () => {
    const h = new Harness({ settings: { rateLimitPerSecond: 1 } });
    await h.outcome(answersAtOnce);
    const waiting = [h.call(answersAtOnce), h.call(answersAtOnce)];
    await h.executor.close();
    expect(waiting.map((call) => call.ending?.how)).toEqual(['unavailable', 'unavailable']);
    expect(h.clock.pending).toBe(0);
  });

  it('starts nobody whose slot was granted just before', async () => {
    const observer = { settled: () => void closing() };
    const h = new Harness({ settings: { maxConcurrency: 1 }, observer });
    const closing = (): void => queueMicrotask(() => void h.executor.close());
    h.call({ ...answersAtOnce, answerMs: 10 });
    const queued = h.call(answersAtOnce);
    await h.clock.advance(10);
    expect(queued.ending?.how).toBe('unavailable');
    expect(h.source.uses).toHaveLength(1);
    expect(h.executor.snapshot().in_flight).toBe(0);
  });

  it('does not wait for ever for a connector that breaks its contract, and says so', async () => {
    const h = new Harness();
    h.source.run = () => new Promise(() => undefined);
    const call = h.call(answersAtOnce);
    let closed = false;
    const closing = h.executor.close().then(() => (closed = true));
    await h.clock.advance(1499);
    expect(closed).toBe(false);
    await h.clock.advance(1);
    await closing;
    expect(call.ending?.how).toBe('unavailable');
    expect(h.log.named('connector_bug')).toMatchObject([{ fields: { source: 'fuente', slots_not_returned: 1 } }]);
  });
});
