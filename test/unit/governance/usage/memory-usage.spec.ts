import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { exhausted, type Charge, type Count } from '../../../../src/governance/core/index.js';
import { MemoryUsage } from '../../../../src/governance/usage/memory-usage.js';

const { signal } = new AbortController();
const calls = (key: string, limit: number, windowMs = 1_000): Charge => ({
  kind: 'calls',
  key,
  limit,
  windowMs,
  per: '1s',
  path: '/grants/0',
});
const subjects = (key: string, limit: number, subject: string, windowMs = 1_000): Charge => ({
  ...calls(key, limit, windowMs),
  kind: 'subjects',
  subject,
});

describe('usage in memory', () => {
  it('consumes all charges or none', async () => {
    const usage = new MemoryUsage();
    expect(await usage.tryConsume([calls('a', 2), calls('b', 1)], 0, signal)).toEqual({ kind: 'consumed' });
    expect(await usage.tryConsume([calls('a', 2), calls('b', 1)], 0, signal)).toEqual({ kind: 'exhausted', key: 'b' });
    expect(await usage.tryConsume([calls('a', 2)], 0, signal)).toEqual({ kind: 'consumed' });
    expect(await usage.tryConsume([calls('a', 2)], 0, signal)).toEqual({ kind: 'exhausted', key: 'a' });
  });

  it('opens a window with the first thing counted in it, and keeps it when the clock goes back', async () => {
    const usage = new MemoryUsage();
    await usage.tryConsume([calls('a', 1)], 500, signal);
    expect(await usage.tryConsume([calls('a', 1)], 1_499, signal)).toMatchObject({ kind: 'exhausted' });
    expect(await usage.tryConsume([calls('a', 1)], -9_999, signal)).toMatchObject({ kind: 'exhausted' });
    expect(await usage.tryConsume([calls('a', 1)], 1_500, signal)).toMatchObject({ kind: 'consumed' });
  });

  it('takes no room for a subject that the window has counted, unless nothing is allowed at all', async () => {
    const usage = new MemoryUsage();
    for (const subject of ['x', 'x', 'x'])
      expect(await usage.tryConsume([subjects('s', 1, subject)], 0, signal)).toEqual({ kind: 'consumed' });
    expect(await usage.tryConsume([subjects('s', 1, 'y')], 0, signal)).toMatchObject({ kind: 'exhausted' });
    expect(await usage.tryConsume([subjects('z', 0, 'x')], 0, signal)).toMatchObject({ kind: 'exhausted' });
  });

  it('rejects, which means unknown, when it has no room, and has room again when windows have run out', async () => {
    const usage = new MemoryUsage({ counters: 2, subjects: 2 });
    await usage.tryConsume([calls('a', 9), subjects('b', 9, 'x')], 0, signal);
    await expect(usage.tryConsume([calls('c', 9)], 10, signal)).rejects.toThrow('not known');
    expect(await usage.tryConsume([subjects('c', 9, 'y')], 1_000, signal)).toEqual({ kind: 'consumed' });
  });

  it('does nothing for a caller who has left', async () => {
    await expect(
      new MemoryUsage().tryConsume([calls('a', 1)], 0, AbortSignal.abort(new Error('left'))),
    ).rejects.toThrow('left');
  });

  it('counts as the core does, whatever is charged and whenever', async () => {
    const step = fc.record({
      after: fc.integer({ min: 0, max: 700 }),
      charges: fc.uniqueArray(
        fc.record({
          key: fc.constantFrom('a', 'b'),
          limit: fc.integer({ min: 0, max: 3 }),
          subject: fc.constantFrom(undefined, 'x', 'y', 'z'),
        }),
        { minLength: 1, maxLength: 2, selector: ({ key, subject }) => `${key}${subject === undefined}` },
      ),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const usage = new MemoryUsage();
        const model = new Map<string, Count & { subjects: Set<string> }>();
        let at = 0;
        for (const { after, charges } of steps) {
          at += after;
          const all = charges.map(({ key, limit, subject }) =>
            subject === undefined ? calls(`${key} calls`, limit) : subjects(`${key} subjects`, limit, subject),
          );
          const countOf = (charge: Charge): Count | undefined => {
            const count = model.get(charge.key);
            return (
              count && {
                ...count,
                subjectCounted: charge.kind === 'subjects' && count.subjects.has(charge.subject ?? ''),
              }
            );
          };
          const spent = all.find((charge) => exhausted(charge, countOf(charge), at));
          expect(await usage.tryConsume(all, at, signal)).toEqual(
            spent ? { kind: 'exhausted', key: spent.key } : { kind: 'consumed' },
          );
          if (spent) continue;
          for (const charge of all) {
            const old = model.get(charge.key);
            const open =
              old !== undefined && at - old.windowStart < charge.windowMs
                ? old
                : { used: 0, windowStart: at, subjects: new Set<string>() };
            if (charge.kind === 'subjects') open.subjects.add(charge.subject ?? '');
            const used = charge.kind === 'calls' ? open.used + 1 : open.subjects.size;
            model.set(charge.key, { ...open, used });
          }
        }
      }),
      { numRuns: 300 },
    );
  });
});
