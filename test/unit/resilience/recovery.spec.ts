import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ExecutorObserver } from '../../../src/resilience/observer.js';
import { Harness } from './support/harness.js';
import { answersAtOnce, fails, hangs, ignores, type Script } from './support/scripted-source.js';

const down = (): Promise<never> => Promise.reject(new Error('host=10.9.8.7 refused'));
/** Settles only when asked to stop. */
const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));

describe('a source that failed at start', () => {
  it('is closed at once by the first connect and health check that succeed, whatever the reset time', async () => {
    const h = new Harness({ settings: { resetTimeoutMs: 3_600_000 }, random: () => 0.999 });
    h.source.onConnect = down;
    h.executor.startFailed();
    expect(h.executor.state).toBe('open');
    expect(await h.outcome(answersAtOnce)).toBe('circuit_open');
    await h.clock.advance(600_000);
    expect(h.executor.state).toBe('open');
    h.source.onConnect = () => Promise.resolve();
    await h.clock.advance(5000);
    expect(h.executor.state).toBe('closed');
    expect(await h.outcome(answersAtOnce)).toBe('respuesta');
    const { connects } = h.source;
    await h.clock.advance(60_000);
    expect(h.source.connects).toBe(connects);
    expect(h.clock.pending).toBe(0);
  });

  it('is retried after 0.5 s doubling to at most 5 s, times a random share of it', async () => {
    for (const random of [0.999999, 0.5, 0.1]) {
      const h = new Harness({ random: () => random });
      const at: number[] = [];
      h.source.onConnect = () => {
        at.push(h.clock.now());
        return down();
      };
      const start = h.clock.now();
      h.executor.startFailed();
      await h.clock.advance(60_000 * random);
      const waits = at.map((time, n) => (time - (at[n - 1] ?? start)) / random);
      const expected = [500, 1000, 2000, 4000, 5000, 5000, 5000];
      expect(waits.slice(0, 7).map(Math.round)).toEqual(expected);
      expect(h.executor.snapshot().next_probe_at).not.toBeNull();
    }
  });

  it('stays open while it connects and is not healthy, and tells the first, second, fourth… failure', async () => {
    const h = new Harness();
    h.source.onConnect = down;
    h.executor.startFailed();
    await h.clock.advance(11_000);
    const told = h.log.named('connector_recovery_failed');
    expect(told.map(({ fields }) => fields['attempts'])).toEqual([1, 2, 4]);
    expect(told[0]).toMatchObject({ level: 'ERROR', fields: { source: 'fuente' }, cause: expect.any(Error) as never });
    h.source.onConnect = () => Promise.resolve();
    h.source.onHealth = () => Promise.resolve(false);
    await h.clock.advance(15_000);
    expect(h.executor.state).toBe('open');
    expect(h.source.healthChecks).toBeGreaterThan(2);
  });

  it('is used again within ten seconds of coming back, also when an attempt hung at that moment', async () => {
    const h = new Harness({ random: () => 0.999999 });
    h.source.onConnect = untilAborted;
    h.executor.startFailed();
    await h.clock.advance(60_000);
    // Just after an attempt has begun to hang.
    const { connects } = h.source;
    while (h.source.connects === connects) await h.clock.advance(1);
    h.source.onConnect = () => Promise.resolve();
    const backAt = h.clock.now();
    while (h.executor.state !== 'closed') await h.clock.advance(10);
    expect(h.clock.now() - backAt).toBeLessThanOrEqual(9500);
  });

  it('asks one question at a time and holds one slot for it, also when connect ignores its signal', async () => {
    const outcomes: string[] = [];
    const observer: ExecutorObserver = { probed: (_source, outcome) => void outcomes.push(outcome) };
    const h = new Harness({ observer });
    h.source.onConnect = () => new Promise(() => undefined);
    h.executor.startFailed();
    await h.clock.advance(60_000);
    expect(h.source.connects).toBe(1);
    expect(h.executor.snapshot()).toMatchObject({ in_flight: 1, circuit_state: 'open' });
    expect(outcomes[0]).toBe('failure');
    expect(new Set(outcomes.slice(1))).toEqual(new Set(['skipped']));
  });

  it('may be closed by users after the reset time, and then is not connected again', async () => {
    const h = new Harness({ settings: { resetTimeoutMs: 1000 } });
    h.source.onConnect = down;
    h.executor.startFailed();
    await h.clock.advance(1000);
    await h.outcome(answersAtOnce);
    await h.outcome(answersAtOnce);
    expect(h.executor.state).toBe('closed');
    const { connects } = h.source;
    await h.clock.advance(60_000);
    expect(h.source.connects).toBe(connects);
  });

  it('goes on being retried when a user reopens its circuit', async () => {
    const h = new Harness({ settings: { resetTimeoutMs: 1000 } });
    h.source.onConnect = down;
    h.executor.startFailed();
    await h.clock.advance(1000);
    expect(await h.outcome(fails({ kind: 'infrastructure' }))).toBe('unavailable');
    h.source.onConnect = () => Promise.resolve();
    await h.clock.advance(5000);
    expect(h.executor.state).toBe('closed');
  });

  it('is closed by a late success at start, and retried no more', async () => {
    const h = new Harness();
    h.executor.startFailed();
    h.executor.startFailed();
    h.executor.startSucceeded();
    h.executor.startSucceeded();
    expect(h.executor.state).toBe('closed');
    await h.clock.advance(60_000);
    expect(h.source.connects).toBe(0);
  });

  it('is closed by the connect even when a user is the probe at that moment, whose result then moves nothing', async () => {
    const h = new Harness({ settings: { resetTimeoutMs: 100 } });
    h.executor.startFailed();
    await h.clock.advance(100);
    h.call({ ...answersAtOnce, answerMs: 1000, failure: { kind: 'infrastructure' } });
    expect(h.executor.state).toBe('half_open');
    await h.clock.advance(400);
    expect(h.executor.state).toBe('closed');
    await h.clock.advance(1000);
    expect(h.executor.snapshot()).toMatchObject({ circuit_state: 'closed', in_flight: 0 });
  });
});

describe('a circuit that failures opened', () => {
  it('is closed by health checks alone, one after the other, without any user, at the reset time', async () => {
    const h = new Harness();
    await h.openCircuit();
    await h.clock.advance(29_999);
    expect(h.source.healthChecks).toBe(0);
    await h.clock.advance(1);
    expect(h.source.healthChecks).toBe(2);
    expect(h.executor.state).toBe('closed');
    expect(h.source.mostLive).toBe(1);
    expect(h.clock.pending).toBe(0);
  });

  it('is reopened by one failed health check, and asked again a reset time later', async () => {
    const h = new Harness();
    const answers = [true, false, true, true];
    h.source.onHealth = () => Promise.resolve(answers.shift() ?? false);
    await h.openCircuit();
    await h.clock.advance(30_000);
    expect(h.executor.state).toBe('open');
    await h.clock.advance(29_999);
    expect(h.executor.state).toBe('open');
    await h.clock.advance(1);
    expect(h.executor.state).toBe('closed');
  });

  it('lets a user who comes first be the probe', async () => {
    const h = new Harness();
    await h.openCircuit();
    h.clock.stall(30_000);
    const probe = h.call({ ...answersAtOnce, answerMs: 1000 });
    await h.clock.advance(999);
    expect(h.source.healthChecks).toBe(0);
    expect(await h.outcome(answersAtOnce)).toBe('circuit_open');
    await h.clock.advance(300);
    expect(probe.ending?.how).toBe('respuesta');
    // The user's success counted; one health check was enough for the second.
    expect(h.source.healthChecks).toBe(1);
    expect(h.executor.state).toBe('closed');
  });

  it('refuses users while a health check is the probe', async () => {
    const h = new Harness();
    h.source.onHealth = () => new Promise((resolve) => h.clock.after(500, () => resolve(true)));
    await h.openCircuit();
    await h.clock.advance(30_100);
    expect(h.executor.state).toBe('half_open');
    expect(h.executor.snapshot().in_flight).toBe(1);
    expect(await h.outcome(answersAtOnce)).toBe('circuit_open');
    await h.clock.advance(900);
    expect(h.executor.state).toBe('closed');
  });

  it('waits for a real call when timeouts of operations opened it: health does not close it', async () => {
    const h = new Harness();
    for (let n = 0; n < 3; n += 1) await h.outcome(hangs);
    await h.clock.advance(120_000);
    expect(h.executor.state).toBe('half_open');
    expect(h.source.healthChecks).toBe(0);
    expect(await h.outcome(answersAtOnce)).toBe('respuesta');
    await h.clock.advance(120_000);
    expect(h.executor.state).toBe('half_open');
    expect(await h.outcome(answersAtOnce)).toBe('respuesta');
    expect(h.executor.state).toBe('closed');
    expect(h.source.healthChecks).toBe(0);
  });

  it('gives a health check three seconds, and then answers for it', async () => {
    const h = new Harness();
    let aborted = false;
    h.source.onHealth = (signal) => {
      signal.addEventListener('abort', () => (aborted = true));
      return new Promise(() => undefined);
    };
    await h.openCircuit();
    await h.clock.advance(32_999);
    expect(h.executor.state).toBe('half_open');
    await h.clock.advance(1);
    expect(h.executor.state).toBe('open');
    expect(aborted).toBe(true);
    // It has not settled, so it still holds its slot; no second one is asked beside it.
    await h.clock.advance(60_000);
    expect(h.source.healthChecks).toBe(1);
    expect(h.executor.snapshot().in_flight).toBe(1);
  });

  it('treats a health check that throws as a bug of the connector and as not healthy', async () => {
    const h = new Harness();
    h.source.onHealth = () => Promise.reject(new TypeError('oops'));
    await h.openCircuit();
    await h.clock.advance(30_000);
    expect(h.executor.state).toBe('open');
    expect(h.log.named('connector_bug')).toMatchObject([{ level: 'ERROR', cause: expect.any(TypeError) as never }]);
  });

  it('never takes a slot beyond the limit for a probe: it waits until one is free', async () => {
    const h = new Harness({
      settings: { maxConcurrency: 1, resetTimeoutMs: 100, failureThreshold: 1, cancelGraceMs: 5000 },
    });
    const gone = h.call(ignores);
    await h.clock.advance(10);
    gone.caller.abort(new Error('left'));
    h.executor.startFailed();
    h.executor.startSucceeded();
    h.executor.startFailed();
    await h.clock.advance(4989);
    expect(h.source.connects).toBe(0);
    expect(h.source.mostLive).toBe(1);
    await h.clock.advance(1000);
    expect(h.source.connects).toBe(1);
    expect(h.executor.state).toBe('closed');
  });

  it('spends no token that is not there on a probe: a pause of the source holds for health checks too', async () => {
    const h = new Harness({ settings: { resetTimeoutMs: 1000, failureThreshold: 1 } });
    await h.outcome(fails({ kind: 'infrastructure', throttled: true, retryAfterSeconds: 5 }));
    expect(h.executor.state).toBe('open');
    await h.clock.advance(4999);
    expect(h.source.healthChecks).toBe(0);
    await h.clock.advance(251);
    expect(h.executor.state).toBe('closed');
  });

  it('looks again when its timer was early', async () => {
    const h = new Harness();
    // A clock whose timers fire a little early, as Node's do.
    const after = h.clock.after.bind(h.clock);
    h.clock.after = (ms, task) => after(ms > 10_000 ? ms - 0.7 : ms, task);
    await h.openCircuit();
    await h.clock.advance(29_999.9);
    expect(h.executor.state).toBe('open');
    await h.clock.advance(0.1);
    expect(h.executor.state).toBe('closed');
  });
});

describe('recovery under random outages', () => {
  it('always closes the circuit without a user, within the reset time and two seconds of the source coming back', async () => {
    const outage = fc.record({
      atStart: fc.boolean(),
      downMs: fc.integer({ min: 0, max: 200_000 }),
      resetMs: fc.integer({ min: 100, max: 40_000 }),
      threshold: fc.integer({ min: 1, max: 4 }),
      manner: fc.constantFrom<'refuses' | 'hangs'>('refuses', 'hangs'),
      random: fc.double({ min: 0.05, max: 0.999, noNaN: true }),
    });
    await fc.assert(
      fc.asyncProperty(outage, async ({ atStart, downMs, resetMs, threshold, manner, random }) => {
        const h = new Harness({
          settings: { resetTimeoutMs: resetMs, successThreshold: threshold },
          random: () => random,
        });
        h.source.onConnect = manner === 'refuses' ? down : untilAborted;
        h.source.onHealth = (signal) =>
          manner === 'refuses' ? Promise.resolve(false) : untilAborted(signal).catch(() => false);
        if (atStart) h.executor.startFailed();
        else await h.openCircuit();
        await h.clock.advance(downMs);
        h.source.onConnect = () => Promise.resolve();
        h.source.onHealth = () => Promise.resolve(true);
        const latest = atStart ? 9500 : resetMs + 2000 + (manner === 'hangs' ? 3000 : 0);
        await h.clock.advance(latest);
        expect(h.executor.state).toBe('closed');
        expect(h.source.mostLive).toBe(1);
        expect(h.executor.snapshot().in_flight).toBe(0);
        expect(h.clock.pending).toBe(0);
      }),
      { numRuns: 100 },
    );
  });
});

const quick: Script = answersAtOnce;
describe('one probe at a time', () => {
  it('holds between users and health checks, whoever comes', async () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('call' as const), ms: fc.nat(400), good: fc.boolean() }),
      fc.record({ do: fc.constant('advance' as const), ms: fc.nat(700), good: fc.constant(true) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40, size: 'max' }), fc.nat(300), async (steps, healthMs) => {
        const h = new Harness({ settings: { maxConcurrency: 4, resetTimeoutMs: 500, failureThreshold: 1 } });
        // All calls end before the circuit first opens, so what lives in half-open is a probe.
        h.source.onHealth = () =>
          new Promise((resolve) => void h.clock.after(healthMs, () => resolve(healthMs % 3 !== 0)));
        await h.openCircuit();
        for (const one of steps) {
          if (one.do === 'advance') await h.clock.advance(one.ms);
          else if (h.executor.state !== 'closed') {
            h.call({ ...quick, answerMs: one.ms, ...(one.good ? {} : { failure: { kind: 'infrastructure' } }) });
          }
          if (h.executor.state !== 'closed') expect(h.source.live).toBeLessThanOrEqual(1);
        }
      }),
      { numRuns: 150 },
    );
  });
});
