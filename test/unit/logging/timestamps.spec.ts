import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Timestamps } from '../../../src/logging/timestamps.js';

const START = Date.parse('2026-11-30T12:20:01.250Z');

function clocks() {
  const at = { wall: START, monotonic: 5000 };
  const timestamps = new Timestamps(
    () => at.wall,
    () => at.monotonic,
  );
  const pass = (milliseconds: number) => {
    at.monotonic += milliseconds;
    at.wall = START + Math.floor(at.monotonic - 5000);
  };
  return { at, timestamps, pass };
}

describe('a timestamp', () => {
  it('is ISO-8601 in UTC with microseconds', () => {
    const { timestamps, pass } = clocks();
    expect(timestamps.now()).toBe('2026-11-30T12:20:01.250000+00:00');
    pass(0.125);
    expect(timestamps.now()).toBe('2026-11-30T12:20:01.250125+00:00');
    pass(749.875);
    expect(timestamps.now()).toBe('2026-11-30T12:20:02.000000+00:00');
  });

  it('never goes back while the wall clock is not set, and is within a tick of it', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 5000, noNaN: true })), (steps) => {
        const { at, timestamps, pass } = clocks();
        let last = timestamps.now();
        for (const step of steps) {
          pass(step);
          const now = timestamps.now();
          expect(now >= last).toBe(true);
          expect(Math.abs(Date.parse(now) - at.wall)).toBeLessThanOrEqual(2);
          expect(now).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/);
          last = now;
        }
      }),
    );
  });

  it.each([-3_600_000, 3_600_000])('follows a wall clock that is set by %d ms', (set) => {
    const { at, timestamps } = clocks();
    timestamps.now();
    at.wall += set;
    expect(Date.parse(timestamps.now())).toBe(START + set);
  });
});
