import fc from 'fast-check';
import type { ExecutorSettings } from '../../../../src/resilience/executor-settings.js';
import type { Failure } from '../../../../src/resilience/connector.js';
import type { CircuitStateName } from '../../../../src/resilience/observer.js';
import type { FakeClock } from '../../../support/fake-clock.js';
import { Harness, type Tracked } from './harness.js';
import type { Script, Use } from './scripted-source.js';

/** Random programs for an executor: who calls, who leaves, how the source behaves, how time passes. */
export type Step =
  | { readonly do: 'call'; readonly script: Script; readonly deadlineIn: number | undefined }
  | { readonly do: 'leave'; readonly which: number }
  | { readonly do: 'advance'; readonly ms: number }
  | { readonly do: 'health'; readonly ms: number; readonly healthy: boolean }
  | { readonly do: 'startFailed' };

export interface Program {
  readonly settings: ExecutorSettings;
  readonly steps: readonly Step[];
}

const failure = fc.record({
  kind: fc.constantFrom<Failure['kind']>(
    'infrastructure',
    'infrastructure',
    'infrastructure',
    'answered',
    'rejected',
    'bug',
  ),
  connecting: fc.boolean(),
});
const throttled: fc.Arbitrary<Failure> = fc.record({
  kind: fc.constant('answered' as const),
  throttled: fc.constant(true),
  retryAfterSeconds: fc.constantFrom(undefined, 0.1, 0.3),
});

const duration = fc.oneof(
  { weight: 1, arbitrary: fc.constant(0) },
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 300 }) },
  { weight: 1, arbitrary: fc.constant(Infinity) },
);
const script: fc.Arbitrary<Script> = fc.record(
  {
    connectMs: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: duration }),
    answerMs: duration,
    stopMs: duration,
    failure: fc.oneof({ weight: 5, arbitrary: failure }, { weight: 1, arbitrary: throttled }),
    throwsAtOnce: fc.constant(true),
  },
  { requiredKeys: ['connectMs', 'answerMs', 'stopMs'] },
);
// An optional key is there half the time; most calls should simply be answered.
const mostlyGood = fc.tuple(script, fc.integer({ min: 0, max: 9 })).map(([one, dice]): Script => ({
  ...one,
  failure: dice < 5 ? one.failure : undefined,
  throwsAtOnce: dice === 0 && one.throwsAtOnce,
}));

const call: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('call' as const),
  script: mostlyGood,
  deadlineIn: fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.nat(300) }),
});
const leave: fc.Arbitrary<Step> = fc.record({ do: fc.constant('leave' as const), which: fc.nat(4) });
const advance: fc.Arbitrary<Step> = fc.record({ do: fc.constant('advance' as const), ms: fc.nat(300) });
const health: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('health' as const),
  ms: fc.nat(100),
  healthy: fc.boolean(),
});
const startFailed: fc.Arbitrary<Step> = fc.constant({ do: 'startFailed' });
const step = fc.oneof(
  { weight: 50, arbitrary: call },
  { weight: 15, arbitrary: leave },
  { weight: 30, arbitrary: advance },
  { weight: 5, arbitrary: health },
  { weight: 1, arbitrary: startFailed },
);

export const settings: fc.Arbitrary<ExecutorSettings> = fc.record({
  maxConcurrency: fc.integer({ min: 1, max: 3 }),
  maxQueue: fc.oneof(fc.nat(3), fc.constant(8)),
  acquireTimeoutMs: fc.integer({ min: 20, max: 500 }),
  operationTimeoutMs: fc.integer({ min: 50, max: 500 }),
  callDeadlineMs: fc.integer({ min: 100, max: 900 }),
  cancelGraceMs: fc.nat(150),
  failureThreshold: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.constant(1000)),
  resetTimeoutMs: fc.integer({ min: 50, max: 1000 }),
  successThreshold: fc.integer({ min: 1, max: 3 }),
  rateLimitPerSecond: fc.constantFrom(undefined, undefined, undefined, 2, 5, 20, 50),
  rateLimitBurst: fc.integer({ min: 1, max: 4 }),
});

export const program: fc.Arbitrary<Program> = fc.record({
  settings,
  steps: fc.array(step, { maxLength: 60, size: 'max' }),
});

/** Everything that can be seen of one call from outside. */
export interface Story {
  readonly call: Tracked;
  readonly script: Script;
  /** Instant at which the caller's or the executor's deadline ends the call. */
  readonly deadline: number;
  readonly queuedBefore: number;
  leftAt?: number;
  readonly use: Use | undefined;
}

export interface Change {
  readonly at: number;
  readonly to: CircuitStateName;
  /** Uses of the source that had begun before this change. */
  readonly usesBefore: number;
}

/** Runs a program step by step, so that two can be interleaved under one clock. */
export class ProgramRun {
  readonly h: Harness;
  readonly changes: Change[] = [];
  readonly stories: Story[] = [];

  constructor(
    readonly program: Program,
    clock?: FakeClock,
  ) {
    this.h = new Harness({
      settings: program.settings,
      clock,
      observer: {
        stateChanged: (_source, _from, to) =>
          void this.changes.push({ at: this.h.clock.now(), to, usesBefore: this.h.source.uses.length }),
      },
    });
  }

  /** Everything but the passing of time. */
  take(one: Step): void {
    const { h } = this;
    switch (one.do) {
      case 'call': {
        const now = h.clock.now();
        const own = one.deadlineIn === undefined ? undefined : now + one.deadlineIn;
        const queuedBefore = h.executor.snapshot().queued;
        const call = h.call(one.script, { deadline: own }, `${this.stories.length}`);
        const deadline = Math.min(now + this.program.settings.callDeadlineMs, own ?? Infinity);
        const { source } = h;
        this.stories.push({
          ...{ call, script: one.script, deadline, queuedBefore },
          get use() {
            return source.uses.find((use) => use.label === call.label);
          },
        });
        return;
      }
      case 'leave': {
        // Counted from the newest: the oldest have ended long ago.
        const story = this.stories.at(-1 - one.which);
        if (story === undefined || story.leftAt !== undefined) return;
        story.leftAt = h.clock.now();
        story.call.caller.abort(new Error('left'));
        return;
      }
      case 'health':
        h.source.onHealth = () => new Promise((resolve) => void h.clock.after(one.ms, () => resolve(one.healthy)));
        return;
      case 'startFailed':
        return h.executor.startFailed();
      case 'advance':
        return;
    }
  }

  async run(each: () => void = () => undefined): Promise<void> {
    for (const one of this.program.steps) {
      this.take(one);
      each();
      if (one.do === 'advance') await this.h.clock.advance(one.ms);
      each();
    }
    await this.h.clock.advance(3000);
    each();
  }
}
