import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Slot, Slots } from '../../../src/resilience/slots.js';

describe('the bulkhead', () => {
  it('gives as many slots as it has', () => {
    const slots = new Slots(2);
    expect(slots.take()).toBeDefined();
    expect(slots.take()).toBeDefined();
    expect(slots.take()).toBeUndefined();
    expect(slots.held).toBe(2);
  });

  it('throws when a slot is returned twice, and is not one slot richer for it', () => {
    const slots = new Slots(1);
    const slot = slots.take();
    slot?.giveBack();
    expect(() => slot?.giveBack()).toThrow('twice');
    expect(slots.held).toBe(0);
    expect(slots.take()).toBeDefined();
    expect(slots.take()).toBeUndefined();
  });

  it('tells when every slot is back', async () => {
    const slots = new Slots(1);
    await slots.allBack();
    const slot = slots.take();
    let back = false;
    const wait = slots.allBack().then(() => (back = true));
    await Promise.resolve();
    expect(back).toBe(false);
    slot?.giveBack();
    await wait;
    expect(back).toBe(true);
  });

  it('serves in the order of arrival, lets nobody overtake and never lends more than it has', () => {
    type Step = { readonly do: 'arrive' } | { readonly do: 'leave' | 'return'; readonly which: number };
    const step: fc.Arbitrary<Step> = fc.oneof(
      fc.record({ do: fc.constant('arrive' as const) }),
      fc.record({ do: fc.constantFrom('leave' as const, 'return' as const), which: fc.nat(20) }),
    );
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 60, size: 'max' }), (max, steps) => {
        const slots = new Slots(max);
        const lent: { who: number; slot: Slot }[] = [];
        const served: number[] = [];
        const queue: { who: number; slotGranted: (slot: Slot) => void }[] = [];
        let arrivals = 0;
        const lend = (who: number, slot: Slot): void => {
          served.push(who);
          lent.push({ who, slot });
        };
        for (const now of steps) {
          if (now.do === 'arrive') {
            const who = arrivals++;
            const slot = slots.take();
            if (slot !== undefined) lend(who, slot);
            else {
              const waiter = {
                who,
                slotGranted: (granted: Slot) => {
                  expect(queue.shift()?.who).toBe(who);
                  lend(who, granted);
                },
              };
              queue.push(waiter);
              slots.join(waiter);
            }
          } else if (now.do === 'leave' && queue.length > 0) {
            const [gone] = queue.splice(now.which % queue.length, 1);
            if (gone !== undefined) slots.leave(gone);
          } else if (now.do === 'return' && lent.length > 0) {
            lent.splice(now.which % lent.length, 1)[0]?.slot.giveBack();
          }
          expect(lent.length).toBeLessThanOrEqual(max);
          expect(slots.held).toBe(lent.length);
          // Work-conserving: nobody waits while a slot is free.
          if (queue.length > 0) expect(lent.length).toBe(max);
        }
        expect(served).toEqual([...served].sort((a, b) => a - b));
      }),
      { numRuns: 200 },
    );
  });
});
