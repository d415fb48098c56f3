import { describe, expect, it } from '@jest/globals';
import {
  CircuitOpenError,
  ConnectorError,
  RateLimitedError,
  RejectedError,
  SourceUnavailableError,
} from '../../../src/resilience/errors.js';
import { describeError } from '../../../src/resilience/last-error.js';
import type { Failure } from '../../../src/resilience/connector.js';
import { Harness } from './support/harness.js';
import { answersAtOnce, fails, hangs, ignores, ScriptedError } from './support/scripted-source.js';

async function errorOf(h: Harness, failure: Failure): Promise<unknown> {
  const call = h.call(fails(failure));
  return (await call.done).error;
}

describe('law 6 and law 8: what each failure means', () => {
  it.each([
    [
      'infrastructure',
      SourceUnavailableError,
      "fuente 'fuente' no disponible",
      'connector_infrastructure_failure',
      'open',
    ],
    ['answered', SourceUnavailableError, "fuente 'fuente' no disponible", 'connector_operation_unanswered', 'closed'],
    ['rejected', RejectedError, "fuente 'fuente' rechazó la operación", 'connector_operation_rejected', 'closed'],
  ] as const)(
    '%s: its error, its line in the log with the cause, and the circuit',
    async (kind, type, message, event, state) => {
      const h = new Harness({ settings: { failureThreshold: 1 } });
      const error = await errorOf(h, { kind });
      expect(error).toBeInstanceOf(type);
      expect(error).toMatchObject({ message, source: 'fuente' });
      expect(h.executor.state).toBe(state);
      expect(h.log.named(event)).toMatchObject([
        { level: 'ERROR', fields: { source: 'fuente' }, cause: expect.any(ScriptedError) as never },
      ]);
    },
  );

  it('gives the original error of a bug back unchanged, and logs it loudly', async () => {
    const h = new Harness({ settings: { failureThreshold: 1 } });
    const call = h.call(fails({ kind: 'bug' }));
    const { error } = await call.done;
    expect(error).toBeInstanceOf(ScriptedError);
    expect(h.log.named('connector_bug')).toMatchObject([{ level: 'ERROR', cause: error }]);
    expect(h.executor.state).toBe('closed');
  });

  it('takes an error that the connector cannot even classify for a bug', async () => {
    const h = new Harness();
    h.source.classify = () => {
      throw new TypeError('classify is broken');
    };
    expect(await errorOf(h, { kind: 'infrastructure' })).toBeInstanceOf(ScriptedError);
    expect(h.log.named('connector_bug').map(({ fields }) => fields['method'])).toEqual(['classify', undefined]);
  });

  it('passes on when the source said it may be asked again', async () => {
    const h = new Harness();
    expect(await errorOf(h, { kind: 'infrastructure', retryAfterSeconds: 7 })).toMatchObject({ retryAfterSeconds: 7 });
  });

  it.each([
    [undefined, 1],
    [0, 1],
    [-5, 1],
    [Number.NaN, 1],
    [0.25, 0.25],
    [12, 12],
    [3600, 30],
  ])('pauses the bucket for a 429 with Retry-After %s: %s seconds', async (advised, seconds) => {
    const h = new Harness({ settings: { failureThreshold: 1, acquireTimeoutMs: 60_000, callDeadlineMs: 70_000 } });
    const error = await errorOf(h, { kind: 'answered', throttled: true, retryAfterSeconds: advised });
    expect(error).toBeInstanceOf(RateLimitedError);
    expect(error).toMatchObject({ retryAfterSeconds: seconds });
    expect(h.executor.state).toBe('closed');
    expect(h.log.named('connector_throttled')).toMatchObject([
      { level: 'WARNING', fields: { pause_seconds: seconds } },
    ]);
    const next = h.call(answersAtOnce);
    await h.clock.advance(60_000);
    expect(next.ending).toMatchObject({ how: 'respuesta', at: next.arrivedAt + seconds * 1000 });
  });

  it.each([
    ['success', 'closed', undefined],
    ['answered', 'closed', { kind: 'answered' }],
    ['rejected', 'closed', { kind: 'rejected' }],
    ['bug', 'half_open', { kind: 'bug' }],
    ['infrastructure', 'open', { kind: 'infrastructure' }],
  ] as const)('a %s in half-open leaves the circuit %s', async (_name, state, failure) => {
    const h = new Harness({ settings: { successThreshold: 1 } });
    for (let n = 0; n < 3; n += 1) await h.outcome(hangs);
    await h.clock.advance(30_000);
    await h.outcome(failure === undefined ? answersAtOnce : fails(failure));
    expect(h.executor.state).toBe(state);
  });

  it("passes another executor's error on untouched, and does not blame this source for it", async () => {
    const h = new Harness({ settings: { failureThreshold: 1 } });
    for (const inner of [
      new CircuitOpenError('otra', 3),
      new SourceUnavailableError('otra'),
      new RejectedError('otra'),
    ]) {
      const run = h.executor.run(() => Promise.reject(inner), {
        signal: new AbortController().signal,
        account: { key: '', secret: answersAtOnce },
      });
      await expect(run).rejects.toBe(inner);
    }
    expect(h.executor.state).toBe('closed');
    expect(h.log.lines).toEqual([]);
  });

  it('lets nothing of a cause into an error or into a field of the log', async () => {
    const h = new Harness();
    for (const kind of ['infrastructure', 'answered', 'rejected'] as const) {
      const error = await errorOf(h, { kind });
      expect(error).toBeInstanceOf(ConnectorError);
      expect((error as Error).message).not.toContain('10.9.8.7');
      expect(error).not.toHaveProperty('cause');
    }
    const fields = JSON.stringify(h.log.lines.map((line) => line.fields));
    expect(fields).not.toContain('10.9.8.7');
    expect(JSON.stringify(h.executor.snapshot())).not.toContain('10.9.8.7');
  });
});

describe('the last error', () => {
  it('is told by class and code, never by message', () => {
    class DatabaseError extends Error {
      code = '57P01';
    }
    expect(describeError(new DatabaseError('host=10.9.8.7'))).toBe('DatabaseError(57P01)');
    expect(describeError(Object.assign(new Error('x'), { code: 'ECONNREFUSED' }))).toBe('Error(ECONNREFUSED)');
    expect(describeError(Object.assign(new TypeError('x'), { code: 'not a code: 10.9.8.7' }))).toBe('TypeError');
    expect(describeError(Object.create(null))).toBe('Error');
    expect(describeError({ constructor: { name: 'V-16760320 <script>' } })).toBe('Error');
    expect(describeError('V16760320')).toBe('string');
    expect(describeError(null)).toBe('object');
  });

  it('counts how often the same class came in a row', async () => {
    const h = new Harness({ settings: { failureThreshold: 100 } });
    for (let n = 0; n < 3; n += 1) await h.outcome(fails({ kind: 'infrastructure' }));
    expect(h.executor.snapshot().last_error).toMatchObject({ class: 'ScriptedError', count: 3 });
    await h.outcome(hangs);
    expect(h.executor.snapshot().last_error).toEqual({
      class: 'OperationTimeoutError',
      at: '2026-01-01T00:00:05.000Z',
      count: 1,
    });
  });
});

describe('the log of refusals', () => {
  it('has at most one line a second, with the number of calls it stands for', async () => {
    const h = new Harness({ settings: { maxConcurrency: 1, maxQueue: 0, operationTimeoutMs: 5000 } });
    h.call(hangs);
    for (let n = 0; n < 50; n += 1) h.call(answersAtOnce);
    await h.clock.advance(999);
    h.call(answersAtOnce);
    await h.clock.advance(1);
    h.call(answersAtOnce);
    const lines = h.log.named('concurrency_limit_saturated');
    expect(lines.map(({ fields }) => fields['count'])).toEqual([1, 51]);
  });
});

describe('the observer', () => {
  it('sees every call once, with its times in seconds, and every change', async () => {
    const seen: unknown[][] = [];
    const note =
      (name: string) =>
      (...args: unknown[]): void =>
        void seen.push([name, ...args]);
    const h = new Harness({
      settings: { maxConcurrency: 1, maxQueue: 1, failureThreshold: 1 },
      observer: {
        queued: note('queued'),
        started: note('started'),
        settled: note('settled'),
        refused: note('refused'),
        abandoned: note('abandoned'),
        stateChanged: note('stateChanged'),
        settlingChanged: note('settlingChanged'),
        killed: note('killed'),
        probed: note('probed'),
      },
    });
    h.call({ ...answersAtOnce, answerMs: 250 });
    const queued = h.call(ignores);
    h.call(answersAtOnce);
    await h.clock.advance(1250);
    queued.caller.abort(new Error('left'));
    const left = h.call(answersAtOnce);
    await h.clock.advance(100);
    left.caller.abort(new Error('left'));
    await h.clock.advance(400);
    h.call(answersAtOnce);
    await h.clock.advance(30_000);
    expect(seen).toEqual([
      ['started', 'fuente', 0],
      ['queued', 'fuente'],
      ['refused', 'fuente', 'saturated', 0],
      ['settled', 'fuente', 'success', 0.25, 0],
      ['started', 'fuente', 0.25],
      ['settled', 'fuente', 'cancelled', 1, 0.25],
      ['settlingChanged', 'fuente', 1],
      ['queued', 'fuente'],
      ['abandoned', 'fuente', 0.1],
      ['stateChanged', 'fuente', 'closed', 'open'],
      ['killed', 'fuente'],
      ['settlingChanged', 'fuente', 0],
      ['refused', 'fuente', 'circuit_open', 0],
      ['stateChanged', 'fuente', 'open', 'half_open'],
    ]);
  });

  it.each([
    ['success', answersAtOnce],
    ['timeout', hangs],
    ['unavailable', fails({ kind: 'infrastructure' })],
    ['rejected', fails({ kind: 'rejected' })],
    ['rate_limited', fails({ kind: 'answered', throttled: true })],
    ['bug', fails({ kind: 'bug' })],
  ])('is told the outcome %s', async (outcome, script) => {
    const outcomes: string[] = [];
    const h = new Harness({ observer: { settled: (_source, ended) => void outcomes.push(ended) } });
    await h.outcome(script);
    expect(outcomes).toEqual([outcome]);
  });

  it.each([
    ['unavailable', new CircuitOpenError('otra')],
    ['rejected', new RejectedError('otra')],
    ['rate_limited', new RateLimitedError('otra')],
  ])("counts another executor's error as %s", async (outcome, inner) => {
    const outcomes: string[] = [];
    const h = new Harness({ observer: { settled: (_source, ended) => void outcomes.push(ended) } });
    const options = { signal: new AbortController().signal, account: { key: '', secret: answersAtOnce } };
    await expect(h.executor.run(() => Promise.reject(inner), options)).rejects.toBe(inner);
    expect(outcomes).toEqual([outcome]);
  });

  it('cannot hurt: a metric that throws costs no slot and no answer', async () => {
    const boom = (): never => {
      throw new Error('a bug in a metric');
    };
    const h = new Harness({ observer: { started: boom, settled: boom, stateChanged: boom, settlingChanged: boom } });
    expect(await h.outcome(answersAtOnce)).toBe('respuesta');
    expect(await h.outcome(hangs)).toBe('timeout');
    expect(h.executor.snapshot()).toMatchObject({ in_flight: 0, settling: 0 });
    expect(h.log.named('observer_failed')[0]).toMatchObject({ fields: { source: 'fuente', callback: 'started' } });
  });
});
