import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Token, TokenBucket } from '../../../src/resilience/token-bucket.js';
import { FakeClock } from '../../support/fake-clock.js';

function waiter(granted: (token: Token) => void): { tokenGranted: (token: Token) => void } {
  return { tokenGranted: granted };
}

describe('the token bucket', () => {
  it('lets a quiet source run its burst at once, and then at the steady rate', async () => {
    const clock = new FakeClock();
    const bucket = new TokenBucket(10, 3, clock);
    const start = clock.now();
    expect([1, 2, 3].map(() => bucket.take(start))).not.toContain(undefined);
    expect(bucket.take(start)).toBeUndefined();
    expect(bucket.nextComesAt()).toBe(start + 100);
    const times: number[] = [];
    for (let n = 0; n < 3; n += 1) bucket.join(waiter(() => times.push(clock.now() - start)));
    expect(bucket.nextComesAt()).toBe(start + 400);
    await clock.advance(1000);
    expect(times).toEqual([100, 200, 300]);
    expect(clock.pending).toBe(0);
  });

  it('shows how many tokens are there', () => {
    const clock = new FakeClock();
    const bucket = new TokenBucket(10, 3, clock);
    expect(bucket.available(clock.now())).toBe(3);
    bucket.take(clock.now());
    bucket.take(clock.now());
    expect(bucket.available(clock.now())).toBe(1);
    bucket.take(clock.now());
    expect(bucket.available(clock.now())).toBe(0);
    clock.stall(250);
    expect(bucket.available(clock.now())).toBe(2);
    clock.stall(60_000);
    expect(bucket.available(clock.now())).toBe(3);
  });

  it('never makes anybody wait when there is no limit', () => {
    const clock = new FakeClock();
    const bucket = new TokenBucket(undefined, 1, clock);
    for (let n = 0; n < 1000; n += 1) expect(bucket.take(clock.now())).toBeDefined();
    expect(bucket.available(clock.now())).toBe(1);
  });

  it('moves everybody behind one token forward when somebody leaves', async () => {
    const clock = new FakeClock();
    const bucket = new TokenBucket(10, 1, clock);
    const start = clock.now();
    bucket.take(start);
    const got: [string, number][] = [];
    const [a, b, c] = ['a', 'b', 'c'].map((name) => waiter(() => got.push([name, clock.now() - start])));
    for (const one of [a, b, c]) if (one !== undefined) bucket.join(one);
    await clock.advance(50);
    if (a !== undefined) bucket.leave(a);
    await clock.advance(1000);
    expect(got).toEqual([
      ['b', 100],
      ['c', 200],
    ]);
  });

  it('gives a token that was never used to the next in the queue', async () => {
    const clock = new FakeClock();
    const bucket = new TokenBucket(1, 1, clock);
    const token = bucket.take(clock.now()) as Token;
    const start = clock.now();
    const times: number[] = [];
    bucket.join(waiter(() => times.push(clock.now() - start)));
    await clock.advance(200);
    bucket.giveBack(token);
    await clock.advance(0);
    expect(times).toEqual([200]);
  });

  it('does not take back a token that time has given back already', () => {
    const clock = new FakeClock();
    const bucket = new TokenBucket(10, 2, clock);
    const old = bucket.take(clock.now()) as Token;
    clock.stall(10_000);
    bucket.take(clock.now());
    bucket.giveBack(old);
    expect(bucket.available(clock.now())).toBe(1);
  });

  it('gives nothing during a pause, and starts it empty afterwards', async () => {
    const clock = new FakeClock();
    const bucket = new TokenBucket(10, 5, clock);
    const start = clock.now();
    const token = bucket.take(start) as Token;
    bucket.pause(start + 2000);
    expect(bucket.pausedUntil(clock.now())).toBe(start + 2000);
    expect(bucket.available(start)).toBe(0);
    bucket.giveBack(token);
    expect(bucket.take(start)).toBeUndefined();
    const times: number[] = [];
    for (let n = 0; n < 3; n += 1) bucket.join(waiter(() => times.push(clock.now() - start)));
    await clock.advance(5000);
    expect(times).toEqual([2000, 2100, 2200]);
    expect(bucket.pausedUntil(clock.now())).toBeUndefined();
  });

  it('pauses also without a limit, moves those who wait, and a shorter pause never shortens a longer one', async () => {
    const clock = new FakeClock();
    const bucket = new TokenBucket(undefined, 1, clock);
    const start = clock.now();
    bucket.pause(start + 1000);
    const times: number[] = [];
    bucket.join(waiter(() => times.push(clock.now() - start)));
    bucket.join(waiter(() => times.push(clock.now() - start)));
    bucket.pause(start + 3000);
    bucket.pause(start + 500);
    await clock.advance(10_000);
    expect(times).toEqual([3000, 3000]);
  });

  it('asks again when its timer was early, and serves at once who is overdue when it was late', async () => {
    const clock = new FakeClock();
    const bucket = new TokenBucket(10, 1, clock);
    bucket.take(clock.now());
    const times: number[] = [];
    const start = clock.now();
    bucket.join(waiter(() => times.push(clock.now() - start)));
    bucket.grantDue();
    expect(times).toEqual([]);
    clock.stall(350);
    await clock.advance(0);
    expect(times).toEqual([350]);
    // The late token is not made up for by a second one at once.
    expect(bucket.take(clock.now())).toBeUndefined();
  });

  it('sets no timer once it is stopped', () => {
    const clock = new FakeClock();
    const bucket = new TokenBucket(1, 1, clock);
    bucket.take(clock.now());
    bucket.join(waiter(() => undefined));
    expect(clock.pending).toBe(1);
    bucket.stop();
    expect(clock.pending).toBe(0);
  });

  it('keeps to burst plus rate over every window, in order, and promises each waiter the instant that comes true', async () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('arrive' as const), n: fc.nat(3) }),
      fc.record({ do: fc.constant('leave' as const), n: fc.nat(10) }),
      fc.record({ do: fc.constant('advance' as const), n: fc.nat(400) }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 1, max: 5 }),
        fc.array(step, { maxLength: 40, size: 'max' }),
        async (rate, burst, steps) => {
          const clock = new FakeClock();
          const bucket = new TokenBucket(rate, burst, clock);
          const granted: { who: number; at: number }[] = [];
          let queue: { who: number; promised: number; left: boolean; tokenGranted: (token: Token) => void }[] = [];
          let arrivals = 0;
          let left = false;
          for (const now of steps) {
            if (now.do === 'advance') await clock.advance(now.n);
            else if (now.do === 'leave' && queue.length > 0) {
              const [gone] = queue.splice(now.n % queue.length, 1);
              if (gone !== undefined) bucket.leave(gone);
              left = true;
            } else if (now.do === 'arrive') {
              for (let n = 0; n <= now.n; n += 1) {
                const who = arrivals++;
                const promised = bucket.nextComesAt();
                if (bucket.take(clock.now()) !== undefined) {
                  expect(promised).toBeLessThanOrEqual(clock.now());
                  granted.push({ who, at: clock.now() });
                  continue;
                }
                const one = {
                  ...{ who, promised, left: false },
                  tokenGranted: () => {
                    queue = queue.filter((other) => other !== one);
                    granted.push({ who, at: clock.now() });
                    if (left) expect(clock.now()).toBeLessThanOrEqual(promised + 1e-6);
                    else expect(clock.now()).toBeCloseTo(promised, 6);
                  },
                };
                queue.push(one);
                bucket.join(one);
              }
            }
          }
          await clock.advance(1_000_000);
          expect(queue).toEqual([]);
          expect(granted.map(({ who }) => who)).toEqual(granted.map(({ who }) => who).sort((a, b) => a - b));
          for (const [from, first] of granted.entries()) {
            for (const [to, last] of granted.entries()) {
              if (to < from) continue;
              const allowed = burst + ((last.at - first.at) * rate) / 1000;
              expect(to - from + 1).toBeLessThanOrEqual(allowed + 1e-6);
            }
          }
        },
      ),
      { numRuns: 150 },
    );
  });
});
