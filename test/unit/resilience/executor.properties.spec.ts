import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FakeClock } from '../../support/fake-clock.js';
import { type Program, program, ProgramRun, type Story } from './support/programs.js';
import { answersAtOnce } from './support/scripted-source.js';

/** What the script alone would have made of the call, and when. */
function natural({ script, use }: Story): { how: string; at: number } {
  const startedAt = use?.startedAt ?? Number.NaN;
  const at = script.throwsAtOnce ? startedAt : startedAt + script.connectMs + script.answerMs;
  const failure = script.throwsAtOnce ? (script.failure ?? { kind: 'bug' as const }) : script.failure;
  if (failure === undefined) return { how: 'respuesta', at };
  if (failure.throttled) return { how: 'rate_limited', at };
  const how = {
    infrastructure: 'unavailable',
    answered: 'unavailable',
    rejected: 'rejected',
    bug: 'host=10.9.8.7 user=secreto',
  };
  return { how: how[failure.kind], at };
}

async function check(one: Program, each: (run: ProgramRun) => void, after: (run: ProgramRun) => void): Promise<void> {
  const run = new ProgramRun(one);
  await run.run(() => each(run));
  after(run);
}

const nothing = (): void => undefined;

function property(each: (run: ProgramRun) => void, after: (run: ProgramRun) => void, numRuns = 100): Promise<void> {
  return fc.assert(
    fc.asyncProperty(program, (one) => check(one, each, after)),
    { numRuns },
  );
}

describe('the executor under random programs', () => {
  it('never has more live operations than slots (law 4)', async () => {
    await property(({ h, program: { settings } }) => {
      expect(h.source.mostLive).toBeLessThanOrEqual(settings.maxConcurrency);
      // What the executor counts as held is never less than what lives.
      expect(h.executor.snapshot().in_flight).toBeGreaterThanOrEqual(h.source.live);
    }, nothing);
  });

  it('begins calls in the order in which they came (law 2)', async () => {
    await property(nothing, ({ h }) => {
      const order = h.order.map(Number);
      expect(order).toEqual([...order].sort((a, b) => a - b));
      expect(new Set(order).size).toBe(order.length);
    });
  });

  it('leaves nobody in the queue while a slot is free, and never queues more than allowed (law 2)', async () => {
    await property(({ h, program: { settings } }) => {
      const { queued, in_flight, rate_limit } = h.executor.snapshot();
      expect(queued).toBeLessThanOrEqual(settings.maxQueue);
      if (queued > 0 && rate_limit === null) expect(in_flight).toBe(settings.maxConcurrency);
    }, nothing);
  });

  it('answers every call exactly once, and exactly when the laws say (laws 2 and 3)', async () => {
    await property(
      nothing,
      ({ stories, changes, program: { settings } }) => {
        for (const story of stories) {
          const { call, deadline, leftAt, queuedBefore, use } = story;
          const ending = call.ending;
          if (ending === undefined) throw new Error('a call never settled');
          const { how, at } = ending;
          const latest = Math.min(call.arrivedAt + settings.acquireTimeoutMs, deadline);
          if (how === 'left') {
            expect(at).toBe(leftAt);
            continue;
          }
          if (leftAt !== undefined) expect(at).toBeLessThanOrEqual(leftAt);
          if (use === undefined) {
            // Refused: only for the reasons that the laws allow, and only at the instants that they allow.
            if (how === 'circuit_open') {
              const before = changes.filter((change) => change.at < at).at(-1)?.to ?? 'closed';
              const then = changes.filter((change) => change.at === at).map((change) => change.to);
              expect([before, ...then].some((state) => state !== 'closed')).toBe(true);
              expect(at).toBeLessThanOrEqual(latest);
            } else {
              expect(['saturated', 'rate_limited']).toContain(how);
              expect([call.arrivedAt, latest]).toContain(at);
              if (how === 'saturated' && at < latest) expect(queuedBefore).toBe(settings.maxQueue);
            }
            continue;
          }
          expect(use.startedAt).toBeLessThanOrEqual(latest);
          const limit = Math.min(use.startedAt + settings.operationTimeoutMs, deadline);
          expect(at).toBeLessThanOrEqual(limit);
          const own = natural(story);
          if (own.at < limit) expect(ending).toMatchObject(own);
          else if (own.at > limit) expect(ending).toMatchObject({ how: 'timeout', at: limit });
          else expect([own.how, 'timeout']).toContain(how);
        }
      },
      200,
    );
  });

  it('asks politely when it answers early, kills after the grace, and neither otherwise (law 4)', async () => {
    await property(nothing, ({ stories, program: { settings } }) => {
      for (const { call, script, use } of stories) {
        if (use === undefined || script.throwsAtOnce) continue;
        const early = ['left', 'timeout'].includes(call.ending?.how ?? '');
        expect(use.politeAt).toBe(early ? call.ending?.at : undefined);
        if (use.politeAt === undefined) continue;
        const killAt = use.politeAt + settings.cancelGraceMs;
        expect(use.endedAt).toBeLessThanOrEqual(killAt);
        if (use.killedAt !== undefined) expect(use.killedAt).toBe(killAt);
        const stopsAt = use.politeAt + script.stopMs;
        const endsItself = script.connectMs + script.answerMs !== Infinity || script.connectMs !== Infinity;
        if (stopsAt < killAt) expect(use.killedAt).toBeUndefined();
        else if (stopsAt > killAt && !endsItself) expect(use.killedAt).toBe(killAt);
      }
    });
  });

  it('gives back every slot and every permit: afterwards it works as on the first day (laws 4 and 5)', async () => {
    await fc.assert(
      fc.asyncProperty(program, async (one) => {
        const run = new ProgramRun(one);
        await run.run();
        const { h } = run;
        expect(h.executor.snapshot()).toMatchObject({ queued: 0, settling: 0 });
        h.source.onHealth = () => Promise.resolve(true);
        // Whatever state the circuit is in: at most one reset time later a call is admitted, and enough of them close it.
        await h.clock.advance(one.settings.resetTimeoutMs + 3000);
        for (let n = 0; n < 3; n += 1) {
          await h.outcome(answersAtOnce);
          await h.clock.advance(1000);
        }
        expect(h.executor.snapshot()).toMatchObject({ circuit_state: 'closed', in_flight: 0, queued: 0, settling: 0 });
        const all = Array.from({ length: one.settings.maxConcurrency }, () =>
          h.call({ ...answersAtOnce, answerMs: 1 }),
        );
        if (one.settings.rateLimitPerSecond === undefined && one.settings.operationTimeoutMs > 1) {
          await h.clock.advance(1);
          if (one.settings.callDeadlineMs > 1) expect(all.map((call) => call.ending?.how)).not.toContain('saturated');
        }
        await h.executor.close();
        await h.clock.advance(5000);
        expect(h.clock.pending).toBe(0);
      }),
      { numRuns: 80 },
    );
  });

  it('lets only one probe live at a time in each half-open generation (law 5)', async () => {
    await property(
      nothing,
      ({ changes, h }) => {
        for (const [n, change] of changes.entries()) {
          if (change.to !== 'half_open') continue;
          const uses = h.source.uses.slice(change.usesBefore, changes[n + 1]?.usesBefore);
          for (const [k, use] of uses.entries()) {
            const before = uses[k - 1];
            if (before !== undefined) expect(use.startedAt).toBeGreaterThanOrEqual(before.endedAt ?? Infinity);
          }
        }
      },
      200,
    );
  });

  it('begins nothing while the circuit is open (laws 1 and 5)', async () => {
    await property(nothing, ({ changes, h }) => {
      for (const [n, change] of changes.entries()) {
        if (change.to === 'open') expect(changes[n + 1]?.usesBefore ?? h.source.uses.length).toBe(change.usesBefore);
      }
    });
  });

  it('closes at any moment: everybody is answered at once and every slot comes back within the grace', async () => {
    await fc.assert(
      fc.asyncProperty(program, async (one) => {
        const run = new ProgramRun(one);
        for (const step of one.steps) {
          run.take(step);
          if (step.do === 'advance') await run.h.clock.advance(step.ms);
        }
        const now = run.h.clock.now();
        const closing = run.h.executor.close();
        await run.h.clock.settle();
        for (const { call } of run.stories) expect(call.ending?.at).toBeLessThanOrEqual(now);
        await run.h.clock.advance(one.settings.cancelGraceMs + 999);
        await closing;
        expect(run.h.executor.snapshot()).toMatchObject({ in_flight: 0, queued: 0, settling: 0 });
        expect(run.h.log.named('connector_bug').every(({ fields }) => !('slots_not_returned' in fields))).toBe(true);
      }),
      { numRuns: 80 },
    );
  });

  it('is independent: what another executor goes through changes nothing (law 9)', async () => {
    const tell = (run: ProgramRun): unknown => ({
      endings: run.stories.map(({ call }) => ({
        how: call.ending?.how,
        after: (call.ending?.at ?? NaN) - call.arrivedAt,
      })),
      order: run.h.order,
      changes: run.changes.map(({ to, usesBefore }) => ({ to, usesBefore })),
      snapshot: run.h.executor.snapshot(),
    });
    await fc.assert(
      fc.asyncProperty(program, program, async (one, other) => {
        const alone = new ProgramRun(one);
        await alone.run();
        const clock = new FakeClock();
        const neighbour = new ProgramRun(other, clock);
        const beside = new ProgramRun(one, clock);
        for (const [n, step] of one.steps.entries()) {
          const theirs = other.steps[n];
          if (theirs !== undefined) neighbour.take(theirs);
          beside.take(step);
          if (step.do === 'advance') await clock.advance(step.ms);
        }
        await clock.advance(3000);
        expect(tell(beside)).toEqual(tell(alone));
      }),
      { numRuns: 80 },
    );
  });
});
