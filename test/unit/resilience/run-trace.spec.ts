import { describe, expect, it } from '@jest/globals';
import type { RunTrace } from '../../../src/resilience/observer.js';
import { Harness } from './support/harness.js';
import { answersAtOnce, fails, hangs, neverConnects } from './support/scripted-source.js';

/** Follows every run, and writes down what it is told. */
function follower() {
  const runs: string[][] = [];
  const began = (): RunTrace => {
    const steps: string[] = [];
    runs.push(steps);
    return {
      queued: () => void steps.push('queued'),
      connecting: () => void steps.push('connecting'),
      operating: (operation) => {
        steps.push('operating');
        return operation();
      },
      ended: (outcome) => void steps.push(outcome),
    };
  };
  return { runs, observer: { began } };
}

describe('a run that is followed', () => {
  it('tells its steps in their order, and its end once', async () => {
    const { runs, observer } = follower();
    const h = new Harness({ settings: { maxConcurrency: 1, failureThreshold: 2 }, observer });
    h.call(hangs);
    h.call(answersAtOnce);
    await h.clock.advance(1_000);
    await h.clock.advance(10_000);
    await h.outcome(fails({ kind: 'infrastructure' }));
    await h.outcome(neverConnects);
    await h.outcome(answersAtOnce);
    expect(runs).toEqual([
      ['connecting', 'operating', 'timeout'],
      ['queued', 'saturated'],
      ['connecting', 'operating', 'unavailable'],
      ['circuit_open'],
      ['circuit_open'],
    ]);
  });

  it('that its caller leaves ends as abandoned while it waits, and as cancelled afterwards', async () => {
    const { runs, observer } = follower();
    const h = new Harness({ settings: { maxConcurrency: 1 }, observer });
    const running = h.call(hangs);
    const waiting = h.call(answersAtOnce);
    waiting.caller.abort(new Error('left'));
    running.caller.abort(new Error('left'));
    await h.clock.advance(1_000);
    expect(runs).toEqual([
      ['connecting', 'operating', 'cancelled'],
      ['queued', 'abandoned'],
    ]);
  });

  it('runs its operation exactly once, also when its follower breaks', async () => {
    const boom = (): never => {
      throw new Error('tracer');
    };
    const broken: RunTrace = { queued: boom, connecting: boom, operating: boom, ended: boom };
    const afterwards: RunTrace = {
      ...broken,
      operating: (operation) => {
        operation();
        return boom();
      },
    };
    for (const trace of [broken, afterwards]) {
      const h = new Harness({ observer: { began: () => trace } });
      expect(await h.outcome(answersAtOnce)).toBe('respuesta');
      expect(h.source.uses).toHaveLength(1);
      expect(h.log.named('observer_failed').map(({ fields }) => fields?.['callback'])).toEqual([
        ...['trace.connecting', 'trace.operating', 'trace.ended'],
      ]);
    }
    const none = new Harness({ observer: { began: boom } });
    expect(await none.outcome(answersAtOnce)).toBe('respuesta');
  });
});
