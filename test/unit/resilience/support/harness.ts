import { ConnectorError } from '../../../../src/resilience/errors.js';
import { ResilientExecutor } from '../../../../src/resilience/executor.js';
import type { ExecutorSettings } from '../../../../src/resilience/executor-settings.js';
import type { RunOptions } from '../../../../src/resilience/connector.js';
import type { ExecutorObserver } from '../../../../src/resilience/observer.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { RecordingLog } from './recording-log.js';
import { type Script, scripted, ScriptedSource } from './scripted-source.js';

export const settings: ExecutorSettings = {
  maxConcurrency: 2,
  maxQueue: 20,
  acquireTimeoutMs: 2000,
  operationTimeoutMs: 5000,
  callDeadlineMs: 7000,
  cancelGraceMs: 500,
  failureThreshold: 3,
  resetTimeoutMs: 30_000,
  successThreshold: 2,
  rateLimitPerSecond: undefined,
  rateLimitBurst: 1,
};

/** How a call ended for its caller, and when. */
export interface Ending {
  readonly how: string;
  readonly at: number;
  readonly error?: unknown;
}

export interface Tracked {
  readonly label: string;
  readonly arrivedAt: number;
  readonly caller: AbortController;
  readonly done: Promise<Ending>;
  ending: Ending | undefined;
}

export interface SetUp {
  readonly settings?: Partial<ExecutorSettings>;
  readonly observer?: ExecutorObserver;
  readonly random?: () => number;
  readonly clock?: FakeClock;
  readonly name?: string;
}

/** One executor over one scripted source, under a clock that the test moves. */
export class Harness {
  readonly clock: FakeClock;
  readonly log = new RecordingLog();
  readonly source: ScriptedSource;
  readonly executor;
  /** Labels of the calls in the order in which the source was used. */
  get order(): string[] {
    return this.source.uses.map((use) => use.label);
  }
  #calls = 0;

  constructor(setUp: SetUp = {}) {
    const clock = (this.clock = setUp.clock ?? new FakeClock());
    const origin = clock.now();
    this.source = new ScriptedSource(this.clock, setUp.name);
    this.executor = new ResilientExecutor({
      connector: this.source,
      settings: { ...settings, ...setUp.settings },
      log: this.log,
      clock: this.clock,
      wallClock: () => new Date(Date.UTC(2026, 0, 1) + clock.now() - origin),
      random: setUp.random ?? (() => 0.5),
      observer: setUp.observer,
    });
  }

  call(script: Script, options: Partial<RunOptions> = {}, label = `${this.#calls}`): Tracked {
    this.#calls += 1;
    const caller = new AbortController();
    const answer = this.executor.run(...scripted(script, label, { signal: caller.signal, ...options }));
    const done = answer.then(
      (value): Ending => ({ how: value, at: this.clock.now() }),
      (error: unknown): Ending => ({ how: nameOf(error), at: this.clock.now(), error }),
    );
    const tracked: Tracked = { label, arrivedAt: this.clock.now(), caller, done, ending: undefined };
    void done.then((ending) => {
      if (tracked.ending !== undefined) throw new Error('a call settled twice');
      tracked.ending = ending;
    });
    return tracked;
  }

  /** Runs a call to its end, however long it takes under the clock. */
  async outcome(script: Script, options: Partial<RunOptions> = {}): Promise<string> {
    const call = this.call(script, options);
    await this.clock.settle();
    while (call.ending === undefined) await this.clock.advance(100);
    return call.ending.how;
  }

  async openCircuit(): Promise<void> {
    const down: Script = {
      connectMs: 0,
      answerMs: 0,
      stopMs: 0,
      failure: { kind: 'infrastructure', connecting: true },
    };
    for (let n = 0; n < settings.failureThreshold; n += 1) await this.outcome(down);
  }
}

function nameOf(error: unknown): string {
  if (error instanceof ConnectorError) return error.code;
  return error instanceof Error ? error.message : String(error);
}
