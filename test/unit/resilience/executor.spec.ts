import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it } from '@jest/globals';
import { CircuitOpenError, OperationTimeoutError, SaturatedError } from '../../../src/resilience/errors.js';
import { Harness } from './support/harness.js';
import {
  answersAtOnce,
  fails,
  hangs,
  ignores,
  neverConnects,
  type Script,
  scripted,
} from './support/scripted-source.js';

const slow = (answerMs: number): Script => ({ ...answersAtOnce, answerMs });

describe('the reference cases (spec §10)', () => {
  it('limits real concurrency: with one slot the second call starts after the first ends', async () => {
    const h = new Harness({ settings: { maxConcurrency: 1 } });
    h.call(slow(100));
    h.call(slow(100));
    await h.clock.advance(1000);
    const [first, second] = h.source.uses;
    expect(second?.startedAt).toBe(first?.endedAt);
    expect(h.source.mostLive).toBe(1);
  });

  it('fails clean when saturated instead of queueing for ever', async () => {
    const h = new Harness({ settings: { maxConcurrency: 1, acquireTimeoutMs: 50 } });
    h.call(slow(1000));
    const queued = h.call(answersAtOnce);
    await h.clock.advance(1000);
    expect(queued.ending).toMatchObject({ how: 'saturated', at: queued.arrivedAt + 50 });
    expect(queued.ending?.error).toBeInstanceOf(SaturatedError);
    expect((queued.ending?.error as Error).message).toBe("fuente 'fuente' saturada: límite de concurrencia excedido");
    expect(h.log.named('concurrency_limit_saturated')).toEqual([
      {
        level: 'WARNING',
        event: 'concurrency_limit_saturated',
        fields: { source: 'fuente', max_concurrency: 1, count: 1 },
      },
    ]);
  });

  it('ends an operation that takes too long, and counts it as a failure', async () => {
    const h = new Harness({ settings: { failureThreshold: 2 } });
    const late = h.call(hangs);
    await h.clock.advance(5000);
    expect(late.ending).toMatchObject({ how: 'timeout', at: late.arrivedAt + 5000 });
    expect(late.ending?.error).toBeInstanceOf(OperationTimeoutError);
    expect((late.ending?.error as Error).message).toBe("operación contra 'fuente' excedió el timeout");
    expect(h.executor.state).toBe('closed');
    expect(h.log.named('operation_timeout')).toMatchObject([
      { level: 'WARNING', fields: { source: 'fuente', timeout_seconds: 5, connecting: false } },
    ]);
    expect(await h.outcome(hangs)).toBe('timeout');
    expect(h.executor.state).toBe('open');
  });

  it('opens after consecutive infrastructure failures and then does not ask the source', async () => {
    const h = new Harness();
    const down = fails({ kind: 'infrastructure' });
    for (let n = 0; n < 3; n += 1) expect(await h.outcome(down)).toBe('unavailable');
    expect(h.executor.state).toBe('open');
    const refused = h.call(answersAtOnce);
    await h.clock.settle();
    expect(refused.ending?.error).toBeInstanceOf(CircuitOpenError);
    expect(refused.ending?.error).toMatchObject({
      message: "fuente 'fuente' no disponible temporalmente (circuito abierto)",
      retryAfterSeconds: 30,
    });
    expect(h.source.uses).toHaveLength(3);
    expect(h.log.named('circuit_breaker_state_change')).toMatchObject([
      { level: 'INFO', fields: { source: 'fuente', from_state: 'closed', to_state: 'open' } },
    ]);
  });

  it('is half-open after the reset time and closes after the second success', async () => {
    const h = new Harness();
    for (let n = 0; n < 3; n += 1) await h.outcome(hangs);
    await h.clock.advance(29_999);
    expect(await h.outcome(answersAtOnce)).toBe('circuit_open');
    await h.clock.advance(1);
    expect(await h.outcome(answersAtOnce)).toBe('respuesta');
    expect(h.executor.state).toBe('half_open');
    expect(await h.outcome(answersAtOnce)).toBe('respuesta');
    expect(h.executor.state).toBe('closed');
  });

  it('reopens at a failure in half-open', async () => {
    const h = new Harness();
    for (let n = 0; n < 3; n += 1) await h.outcome(hangs);
    await h.clock.advance(30_000);
    expect(await h.outcome(fails({ kind: 'infrastructure' }))).toBe('unavailable');
    expect(h.executor.state).toBe('open');
  });

  it('never opens because of what is not an infrastructure failure', async () => {
    const h = new Harness({ settings: { maxConcurrency: 1, maxQueue: 0 } });
    for (const kind of ['answered', 'rejected', 'bug'] as const) {
      for (let n = 0; n < 20; n += 1) await h.outcome(fails({ kind }));
    }
    h.call(slow(1));
    for (let n = 0; n < 20; n += 1) h.call(answersAtOnce);
    for (let n = 0; n < 20; n += 1) {
      await h.clock.advance(10);
      const left = h.call(hangs);
      left.caller.abort(new Error('left'));
    }
    await h.clock.advance(10);
    expect(h.executor.state).toBe('closed');
  });
});

describe('law 1: order', () => {
  it('refuses at once when the circuit is open, also while every slot is taken, and spends no token', async () => {
    const h = new Harness({
      settings: { maxConcurrency: 1, failureThreshold: 1, rateLimitPerSecond: 0.1, rateLimitBurst: 2 },
    });
    h.call(ignores);
    await h.clock.advance(5000);
    expect(h.executor.snapshot()).toMatchObject({ circuit_state: 'open', in_flight: 1, settling: 1 });
    const refused = h.call(answersAtOnce);
    await h.clock.settle();
    expect(refused.ending).toMatchObject({ how: 'circuit_open', at: refused.arrivedAt });
    expect(h.executor.snapshot()).toMatchObject({ queued: 0, rate_limit: { available: 1 } });
  });

  it('refuses at once in half-open while the permit is out, also while every slot is taken', async () => {
    const h = new Harness({ settings: { maxConcurrency: 1 } });
    for (let n = 0; n < 3; n += 1) await h.outcome(hangs);
    await h.clock.advance(30_000);
    h.call(slow(1000));
    const refused = h.call(answersAtOnce);
    await h.clock.settle();
    expect(refused.ending).toMatchObject({ how: 'circuit_open', at: refused.arrivedAt });
  });

  it('checks the circuit again with the slot in hand, and gives a refused call its slot on at once', async () => {
    const h = new Harness({ settings: { maxConcurrency: 1, failureThreshold: 1 } });
    h.call({ ...slow(100), failure: { kind: 'infrastructure' } });
    const queued = [1, 2, 3].map(() => h.call(answersAtOnce));
    await h.clock.advance(100);
    expect(queued.map((call) => call.ending)).toMatchObject(
      queued.map((call) => ({ how: 'circuit_open', at: call.arrivedAt + 100 })),
    );
    expect(h.source.uses).toHaveLength(1);
    expect(h.executor.snapshot()).toMatchObject({ in_flight: 0, queued: 0 });
  });

  it('takes the probe permit only with the slot in hand', async () => {
    const h = new Harness({ settings: { maxConcurrency: 1, failureThreshold: 1, resetTimeoutMs: 400 } });
    // The slot is still settling when the reset time is over.
    const gone = h.call(ignores);
    await h.clock.advance(5000);
    expect(gone.ending?.how).toBe('timeout');
    await h.clock.advance(400);
    const first = h.call(answersAtOnce);
    const second = h.call(answersAtOnce);
    expect(h.executor.snapshot()).toMatchObject({ queued: 2, in_flight: 1, circuit_state: 'half_open' });
    first.caller.abort(new Error('left'));
    await h.clock.advance(100);
    expect(second.ending?.how).toBe('respuesta');
  });

  it('refuses at once when the token cannot come within the acquire timeout, and says when to come back', async () => {
    const h = new Harness({ settings: { rateLimitPerSecond: 0.5, acquireTimeoutMs: 3000 } });
    h.call(answersAtOnce);
    const waits = h.call(answersAtOnce);
    const refused = h.call(answersAtOnce);
    await h.clock.settle();
    expect(refused.ending).toMatchObject({ how: 'rate_limited', at: refused.arrivedAt });
    expect(refused.ending?.error).toMatchObject({
      message: "fuente 'fuente' saturada: límite de tasa excedido",
      retryAfterSeconds: 4,
    });
    await h.clock.advance(2000);
    expect(waits.ending).toMatchObject({ how: 'respuesta', at: waits.arrivedAt + 2000 });
    expect(h.log.named('rate_limit_exceeded')).toHaveLength(1);
  });

  it('counts the wait for a token and the wait for a slot as one wait', async () => {
    const h = new Harness({ settings: { maxConcurrency: 1, rateLimitPerSecond: 1, acquireTimeoutMs: 1500 } });
    h.call(slow(4000));
    const waits = h.call(answersAtOnce);
    await h.clock.advance(1000);
    expect(h.executor.snapshot()).toMatchObject({ queued: 1, rate_limit: { available: 0 } });
    await h.clock.advance(500);
    expect(waits.ending).toMatchObject({ how: 'saturated', at: waits.arrivedAt + 1500 });
  });

  it('is in time when the token comes at the very end of the acquire timeout', async () => {
    const h = new Harness({ settings: { rateLimitPerSecond: 0.5 } });
    h.call(answersAtOnce);
    const waits = h.call(answersAtOnce);
    await h.clock.advance(2000);
    expect(waits.ending?.how).toBe('respuesta');
  });

  it('costs no token when the second check of the circuit refuses', async () => {
    const h = new Harness({
      settings: { maxConcurrency: 1, failureThreshold: 1, rateLimitPerSecond: 0.1, rateLimitBurst: 3 },
    });
    h.call({ ...slow(100), failure: { kind: 'infrastructure' } });
    const refused = [h.call(answersAtOnce), h.call(answersAtOnce)];
    expect(h.executor.snapshot().rate_limit).toMatchObject({ available: 0 });
    await h.clock.advance(100);
    expect(refused.map((call) => call.ending?.how)).toEqual(['circuit_open', 'circuit_open']);
    expect(h.executor.snapshot().rate_limit).toMatchObject({ available: 2 });
  });

  it('costs no token when the operation never began', async () => {
    const h = new Harness({ settings: { maxConcurrency: 1, rateLimitPerSecond: 0.1, rateLimitBurst: 2, maxQueue: 1 } });
    h.call(slow(100));
    const left = h.call(answersAtOnce);
    left.caller.abort(new Error('left'));
    await h.clock.advance(100);
    expect(await h.outcome(answersAtOnce)).toBe('respuesta');
  });
});

describe('law 2: queue', () => {
  it('refuses at once beyond the length of the queue, and gives back the token', async () => {
    const h = new Harness({
      settings: { maxConcurrency: 1, maxQueue: 2, rateLimitPerSecond: 1, rateLimitBurst: 4 },
    });
    h.call(slow(100));
    const queued = [h.call(answersAtOnce), h.call(answersAtOnce)];
    const refused = h.call(answersAtOnce);
    await h.clock.settle();
    expect(refused.ending).toMatchObject({ how: 'saturated', at: refused.arrivedAt });
    expect(h.executor.snapshot().rate_limit).toMatchObject({ available: 1 });
    await h.clock.advance(100);
    expect(queued.map((call) => call.ending?.how)).toEqual(['respuesta', 'respuesta']);
  });

  it('settles the abort of a queued call in the same turn of the event loop', async () => {
    const h = new Harness({ settings: { maxConcurrency: 1, rateLimitPerSecond: 1, rateLimitBurst: 2 } });
    h.call(slow(100));
    const forSlot = h.call(answersAtOnce);
    const forToken = h.call(answersAtOnce);
    let nextTurn = false;
    const turn = new Promise<void>((resolve) => setImmediate(() => resolve(void (nextTurn = true))));
    const reason = new Error('left');
    for (const call of [forSlot, forToken]) {
      call.caller.abort(reason);
      expect((await call.done).error).toBe(reason);
      expect(nextTurn).toBe(false);
    }
    await turn;
    expect(h.executor.snapshot()).toMatchObject({ queued: 0, in_flight: 1 });
  });

  it('rejects a call whose caller has left already, without a slot, a token or a use of the source', async () => {
    const h = new Harness();
    const gone = h.call(answersAtOnce, { signal: AbortSignal.abort('adiós') });
    expect((await gone.done).error).toBe('adiós');
    expect(h.source.uses).toHaveLength(0);
  });

  it('gives the slot on when its caller leaves between the grant and the beginning', async () => {
    const leave = (): void => second.caller.abort(new Error('left'));
    // The slot is returned right after this, and the microtask runs before the grant has reached the second call.
    const observer = { settled: () => queueMicrotask(leave) };
    const h = new Harness({ settings: { maxConcurrency: 1 }, observer });
    h.call(slow(100));
    const second = h.call(answersAtOnce);
    const third = h.call(answersAtOnce);
    await h.clock.advance(100);
    expect([second.ending?.how, third.ending?.how]).toEqual(['left', 'respuesta']);
    expect(h.order).toEqual(['0', '2']);
    expect(h.executor.snapshot().in_flight).toBe(0);
  });

  it('keeps who waits for a token waiting through a pause, to the end of the acquire timeout and not beyond', async () => {
    const h = new Harness({ settings: { rateLimitPerSecond: 1, acquireTimeoutMs: 1500 } });
    const throttled = h.call({
      ...slow(100),
      failure: { kind: 'answered', throttled: true, retryAfterSeconds: 10 },
    });
    const waits = h.call(answersAtOnce);
    await h.clock.advance(1499);
    expect(throttled.ending).toMatchObject({ how: 'rate_limited', error: { retryAfterSeconds: 10 } });
    expect(waits.ending).toBeUndefined();
    await h.clock.advance(1);
    expect(waits.ending).toMatchObject({ how: 'rate_limited', at: waits.arrivedAt + 1500 });
    expect(h.executor.snapshot()).toMatchObject({
      queued: 0,
      rate_limit: { per_second: 1, burst: 1, available: 0, paused_until: '2026-01-01T00:00:10.100Z' },
    });
  });
});

describe('law 3: one deadline', () => {
  it("spans the queue, the connect and the operation, and the caller's own deadline shortens it", async () => {
    const h = new Harness({ settings: { maxConcurrency: 1, callDeadlineMs: 6000 } });
    h.call(slow(1500));
    const queued = h.call({ ...hangs, connectMs: 1000 });
    await h.clock.advance(6000);
    expect(queued.ending).toMatchObject({ how: 'timeout', at: queued.arrivedAt + 6000 });
    await h.clock.settle();
    const hurried = h.call(hangs, { deadline: h.clock.now() + 30 });
    await h.clock.advance(30);
    expect(hurried.ending).toMatchObject({ how: 'timeout', at: hurried.arrivedAt + 30 });
  });

  it('is saturated, never timed out, while it waits for its slot', async () => {
    const h = new Harness({ settings: { maxConcurrency: 1 } });
    h.call(slow(4000));
    const hurried = h.call(answersAtOnce, { deadline: h.clock.now() + 30 });
    const late = h.call(answersAtOnce, { deadline: h.clock.now() });
    await h.clock.advance(30);
    expect(hurried.ending).toMatchObject({ how: 'saturated', at: hurried.arrivedAt + 30 });
    expect(late.ending).toMatchObject({ how: 'saturated', at: late.arrivedAt });
  });

  it('does not ask the source when the slot comes after the deadline, because the event loop was busy', async () => {
    const h = new Harness({ settings: { maxConcurrency: 1 } });
    const first = h.call(slow(100));
    const second = h.call(answersAtOnce, { deadline: h.clock.now() + 150 });
    h.clock.stall(200);
    await h.clock.advance(0);
    expect(first.ending?.how).toBe('respuesta');
    expect(second.ending?.how).toBe('saturated');
    expect(h.source.uses).toHaveLength(1);
    expect(h.executor.snapshot().in_flight).toBe(0);
  });

  it("does not blame the source for its caller's hurry, unless the source does not even stop", async () => {
    const h = new Harness({ settings: { failureThreshold: 1 } });
    h.call(hangs, { deadline: h.clock.now() + 30 });
    await h.clock.advance(1000);
    expect(h.executor.state).toBe('closed');
    h.call(ignores, { deadline: h.clock.now() + 30 });
    await h.clock.advance(529);
    expect(h.executor.state).toBe('closed');
    await h.clock.advance(1);
    expect(h.executor.state).toBe('open');
  });
});

describe('law 4: the cancelling slot', () => {
  it('answers at the timeout, asks politely, kills after the grace and returns the slot when run settles', async () => {
    const h = new Harness({ settings: { maxConcurrency: 1 } });
    const stubborn = h.call(ignores);
    const queued = h.call(answersAtOnce, { deadline: h.clock.now() + 60_000 });
    await h.clock.advance(5000);
    expect(stubborn.ending).toMatchObject({ how: 'timeout', at: stubborn.arrivedAt + 5000 });
    const [use] = h.source.uses;
    expect(use).toMatchObject({ politeAt: stubborn.arrivedAt + 5000 });
    expect(h.executor.snapshot()).toMatchObject({ in_flight: 1, settling: 1 });
    await h.clock.advance(499);
    expect(use?.killedAt).toBeUndefined();
    await h.clock.advance(1);
    expect(use).toMatchObject({ killedAt: stubborn.arrivedAt + 5500, endedAt: stubborn.arrivedAt + 5500 });
    expect(h.executor.snapshot()).toMatchObject({ in_flight: 0, settling: 0 });
    expect(h.log.named('operation_killed')).toHaveLength(1);
    expect(queued.ending?.how).toBe('saturated');
  });

  it('does not kill what stopped politely', async () => {
    const h = new Harness();
    const call = h.call({ ...hangs, stopMs: 499 });
    call.caller.abort(new Error('left'));
    expect((await call.done).how).toBe('left');
    expect(h.executor.snapshot()).toMatchObject({ in_flight: 1, settling: 1 });
    await h.clock.advance(10_000);
    expect(h.source.uses[0]).not.toHaveProperty('killedAt');
    expect(h.executor.snapshot()).toMatchObject({ in_flight: 0, settling: 0, last_error: null });
    expect(h.clock.pending).toBe(0);
  });

  it('counts a kill as an infrastructure failure even when the caller had gone', async () => {
    const h = new Harness({ settings: { failureThreshold: 2 } });
    for (let n = 0; n < 2; n += 1) {
      const call = h.call(ignores);
      await h.clock.advance(10);
      call.caller.abort(new Error('left'));
      await h.clock.advance(499);
      expect(h.executor.state).toBe('closed');
      await h.clock.advance(1);
    }
    expect(h.executor.state).toBe('open');
    expect(h.executor.snapshot().last_error).toMatchObject({ class: 'OperationKilled', count: 2 });
  });

  it('counts a timeout that ends in a kill once', async () => {
    const h = new Harness({ settings: { failureThreshold: 2 } });
    h.call(ignores);
    await h.clock.advance(10_000);
    expect(h.source.uses[0]?.killedAt).toBeDefined();
    expect(h.executor.state).toBe('closed');
  });

  it('does not begin the operation of a call that has been answered, when its connection comes at last', async () => {
    const h = new Harness();
    let touched = 0;
    const late = h.call({ connectMs: 5001, answerMs: 0, stopMs: Infinity }, { touched: () => (touched += 1) });
    await h.clock.advance(6000);
    expect(late.ending?.how).toBe('timeout');
    expect(touched).toBe(0);
    expect(h.executor.snapshot().in_flight).toBe(0);
  });

  it('says once that the source was touched, when the operation begins', async () => {
    const h = new Harness();
    const touches: number[] = [];
    const call = h.call({ ...slow(10), connectMs: 40 }, { touched: () => touches.push(h.clock.now()) });
    await h.clock.advance(100);
    expect(touches).toEqual([call.arrivedAt + 40]);
  });

  it('touches once also when the connector begins the operation twice', async () => {
    const h = new Harness();
    let touched = 0;
    h.source.run = async (operation, { signal }) => {
      await operation({ perform: () => Promise.resolve('') }, signal);
      return operation({ perform: () => Promise.resolve('') }, signal);
    };
    await h.executor.run(async () => 1, { signal: new AbortController().signal, touched: () => (touched += 1) });
    expect(touched).toBe(1);
  });

  it('leaks no slot when the connector or the operation throws at once', async () => {
    const h = new Harness({ settings: { maxConcurrency: 1 } });
    const throws = { ...answersAtOnce, throwsAtOnce: true };
    for (let n = 0; n < 5; n += 1) expect(await h.outcome(throws)).toBe('host=10.9.8.7 user=secreto');
    const [, options] = scripted(answersAtOnce);
    const operation = (): Promise<never> => {
      throw new TypeError('a bug');
    };
    await expect(h.executor.run(operation, options)).rejects.toThrow('a bug');
    expect(h.executor.snapshot()).toMatchObject({ in_flight: 0, settling: 0 });
    expect(await h.outcome(answersAtOnce)).toBe('respuesta');
  });

  it('shows a connector that looks late the signals as they are by then', async () => {
    const h = new Harness();
    let finish: () => void = () => undefined;
    let seen: { signal: AbortSignal; kill: AbortSignal } | undefined;
    h.source.run = (_operation, options) =>
      new Promise((_resolve, reject) => {
        finish = () => {
          seen = { signal: options.signal, kill: options.kill };
          reject(new Error('gone'));
        };
      });
    const call = h.call(answersAtOnce);
    const reason = new Error('left');
    call.caller.abort(reason);
    await h.clock.advance(500);
    finish();
    await h.clock.settle();
    expect(seen).toMatchObject({ signal: { aborted: true, reason }, kill: { aborted: true } });
  });
});

describe('law 5: half-open', () => {
  it('admits one probe at a time, also while the one whose caller left is still settling', async () => {
    const h = new Harness({ settings: { maxConcurrency: 5 } });
    for (let n = 0; n < 3; n += 1) await h.outcome(hangs);
    await h.clock.advance(30_000);
    const probe = h.call({ ...hangs, stopMs: 100 });
    expect(await h.outcome(answersAtOnce)).toBe('circuit_open');
    probe.caller.abort(new Error('left'));
    await h.clock.advance(99);
    expect(await h.outcome(answersAtOnce)).toBe('circuit_open');
    await h.clock.advance(1);
    expect(await h.outcome(answersAtOnce)).toBe('respuesta');
  });

  it('gives the permit of a probe that ends in a bug to the next', async () => {
    const h = new Harness();
    for (let n = 0; n < 3; n += 1) await h.outcome(hangs);
    await h.clock.advance(30_000);
    await h.outcome(fails({ kind: 'bug' }));
    expect(h.executor.state).toBe('half_open');
    expect(await h.outcome(answersAtOnce)).toBe('respuesta');
  });

  it('is not moved by the late results of calls that began before', async () => {
    const h = new Harness({ settings: { maxConcurrency: 5, resetTimeoutMs: 1000, failureThreshold: 1 } });
    const oldSuccess = h.call(slow(2000));
    const oldFailure = h.call({ ...slow(3000), failure: { kind: 'infrastructure' } });
    h.call(hangs, { deadline: undefined });
    h.call({ ...slow(1), failure: { kind: 'infrastructure' } });
    await h.clock.advance(1);
    expect(h.executor.state).toBe('open');
    h.source.onHealth = () => new Promise(() => undefined);
    await h.clock.advance(1999);
    expect(oldSuccess.ending?.how).toBe('respuesta');
    expect(h.executor.state).toBe('half_open');
    await h.clock.advance(1000);
    expect(oldFailure.ending?.how).toBe('unavailable');
    expect(h.executor.state).toBe('half_open');
  });
});

describe('context', () => {
  it('begins a queued operation in the async context of its own caller', async () => {
    const h = new Harness({ settings: { maxConcurrency: 1, rateLimitPerSecond: 10, rateLimitBurst: 2 } });
    const context = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    const calls = ['a', 'b', 'c'].map((id) =>
      context.run(id, () => {
        const [operation, options] = scripted(slow(100));
        return h.executor.run((lease, signal) => {
          seen.push(context.getStore());
          return operation(lease, signal);
        }, options);
      }),
    );
    await h.clock.advance(1000);
    await Promise.all(calls);
    expect(seen).toEqual(['a', 'b', 'c']);
  });

  it('keeps what runs in the background out of the context of the call that opened the circuit', async () => {
    const h = new Harness();
    const context = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    h.source.onHealth = () => {
      seen.push(context.getStore());
      return Promise.resolve(true);
    };
    await context.run('a call', () => h.openCircuit());
    h.clock.after(30_000, () => undefined);
    await h.clock.advance(30_000);
    expect(seen).toEqual([undefined, undefined]);
  });
});

describe('the snapshot', () => {
  it('shows a quiet source', () => {
    expect(new Harness().executor.snapshot()).toEqual({
      source: 'fuente',
      circuit_state: 'closed',
      in_flight: 0,
      queued: 0,
      settling: 0,
      max_concurrency: 2,
      opened_at: null,
      next_probe_at: null,
      last_error: null,
      rate_limit: null,
    });
  });

  it('shows an open circuit, the last error and when the source will be asked again', async () => {
    const h = new Harness({ settings: { maxConcurrency: 1, rateLimitPerSecond: 2, rateLimitBurst: 5 } });
    await h.openCircuit();
    await h.clock.advance(1500);
    expect(h.executor.snapshot()).toMatchObject({
      circuit_state: 'open',
      opened_at: '2026-01-01T00:00:00.000Z',
      next_probe_at: '2026-01-01T00:00:30.000Z',
      last_error: { class: 'ScriptedError', at: '2026-01-01T00:00:00.000Z', count: 3 },
      rate_limit: { per_second: 2, burst: 5, available: 5, paused_until: null },
    });
    await h.clock.advance(30_000);
    expect(h.executor.snapshot()).toMatchObject({ circuit_state: 'closed', opened_at: null, next_probe_at: null });
  });

  it('shows a pause also where there is no rate limit', async () => {
    const h = new Harness();
    await h.outcome(fails({ kind: 'answered', throttled: true, retryAfterSeconds: 2 }));
    expect(h.executor.snapshot().rate_limit).toEqual({
      ...{ per_second: null, burst: null, available: 0 },
      paused_until: '2026-01-01T00:00:02.000Z',
    });
  });

  it('has a clock of its own when none is injected', async () => {
    const h = new Harness();
    const { ResilientExecutor } = await import('../../../src/resilience/executor.js');
    const { settings } = await import('./support/harness.js');
    const executor = new ResilientExecutor({ connector: h.source, settings, log: h.log });
    expect(await executor.run(...scripted(answersAtOnce))).toBe('respuesta');
    executor.startFailed();
    expect(Date.parse(executor.snapshot().opened_at ?? '')).toBeGreaterThan(Date.UTC(2025, 0));
    await executor.close();
  });
});

describe('a call that never connects', () => {
  it('is a connection failure when it times out: health alone may close that circuit', async () => {
    const h = new Harness();
    for (let n = 0; n < 3; n += 1) expect(await h.outcome(neverConnects)).toBe('timeout');
    expect(h.log.named('operation_timeout')[0]?.fields).toMatchObject({ connecting: true });
    await h.clock.advance(30_000);
    expect(h.executor.state).toBe('closed');
  });
});
