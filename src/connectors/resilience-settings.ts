import { Max, Min } from 'class-validator';
import { type ConfigProblem, type CrossCheckContext } from '../config/problem.js';
import { type SectionClass } from '../config/section.js';
import { Setting, variableOf } from '../config/setting.js';
import { ToInteger, ToNumber } from '../config/transforms.js';
import { type ExecutorSettings } from '../resilience/executor-settings.js';

/** Calls that may wait for each slot, when MAX_QUEUE is not set (architecture §4, law 2). */
const QUEUE_PER_SLOT = 10;

/**
 * What an executor can be told about resilience (spec §1.2, §1.3; architecture §3): of a source, or of each upstream MCP server of
 * a policy. Times are seconds, fractions allowed; counts are per replica.
 */
export abstract class ResilienceSettings {
  @Setting({ doc: 'Simultaneous operations against the source, per replica.', unit: 'operations' })
  @ToInteger()
  @Min(1)
  @Max(1000)
  maxConcurrency = 10;

  @Setting({ doc: 'Longest wait for a concurrency slot and for the rate limit together.', unit: 'seconds' })
  @ToNumber()
  @Min(0.001)
  @Max(600)
  acquireTimeoutSeconds = 2;

  @Setting({ doc: 'Longest time of one operation once it has its slot; connecting is inside it.', unit: 'seconds' })
  @ToNumber()
  @Min(0.001)
  @Max(600)
  operationTimeoutSeconds = 5;

  @Setting({ doc: 'Consecutive infrastructure failures that open the circuit.', unit: 'failures' })
  @ToInteger()
  @Min(1)
  @Max(1000)
  circuitFailureThreshold = 5;

  @Setting({ doc: 'Time the circuit stays open before a probe may be tried.', unit: 'seconds' })
  @ToNumber()
  @Min(0.001)
  @Max(86_400)
  circuitResetTimeoutSeconds = 30;

  @Setting({ doc: 'Consecutive successes in half-open that close the circuit.', unit: 'successes' })
  @ToInteger()
  @Min(1)
  @Max(1000)
  circuitSuccessThreshold = 2;

  @Setting({
    doc: 'Operations that may begin each second, per replica; beyond it calls wait within the acquire timeout.',
    unit: 'operations per second',
    defaultDoc: 'no limit',
  })
  @ToNumber()
  @Min(0.001)
  @Max(1_000_000)
  rateLimitPerSecond?: number;

  @Setting({
    doc: 'Operations that a quiet source may begin at once under the rate limit.',
    unit: 'operations',
    defaultDoc: 'the rate rounded up, at least 1',
  })
  @ToInteger()
  @Min(1)
  @Max(1_000_000)
  rateLimitBurst?: number;

  @Setting({
    doc: 'Calls that may wait for a slot; the next one is refused at once. 0: nobody waits.',
    unit: 'calls',
    defaultDoc: '10 × the maximum concurrency',
  })
  @ToInteger()
  @Min(0)
  @Max(1_000_000)
  maxQueue?: number;

  @Setting({
    doc: 'Time a cancelled operation has to stop politely before its connection is destroyed.',
    unit: 'seconds',
  })
  @ToNumber()
  @Min(0)
  @Max(60)
  cancelGraceSeconds = 2;

  @Setting({
    doc: 'Longest time of one call in all: queue, connecting and operation.',
    unit: 'seconds',
    defaultDoc: 'acquire timeout + operation timeout',
  })
  @ToNumber()
  @Min(0.001)
  @Max(1200)
  callDeadlineSeconds?: number;

  /** Rules between fields. A subclass adds its own to what `super.crossCheck(context)` returns. */
  crossCheck(_context: CrossCheckContext): ConfigProblem[] {
    if (this.rateLimitBurst === undefined || this.rateLimitPerSecond !== undefined) return [];
    const rate = this.variable('rateLimitPerSecond');
    return [{ variable: this.variable('rateLimitBurst'), problem: `has no effect alone; set ${rate} or remove it` }];
  }

  /** The same facts in the executor's units (milliseconds and counts), with every default filled in. */
  executorSettings(): ExecutorSettings {
    const { acquireTimeoutSeconds, operationTimeoutSeconds, rateLimitPerSecond, maxConcurrency } = this;
    return {
      maxConcurrency,
      maxQueue: this.maxQueue ?? QUEUE_PER_SLOT * maxConcurrency,
      acquireTimeoutMs: 1000 * acquireTimeoutSeconds,
      operationTimeoutMs: 1000 * operationTimeoutSeconds,
      callDeadlineMs: 1000 * (this.callDeadlineSeconds ?? acquireTimeoutSeconds + operationTimeoutSeconds),
      cancelGraceMs: 1000 * this.cancelGraceSeconds,
      failureThreshold: this.circuitFailureThreshold,
      resetTimeoutMs: 1000 * this.circuitResetTimeoutSeconds,
      successThreshold: this.circuitSuccessThreshold,
      rateLimitPerSecond,
      rateLimitBurst: this.rateLimitBurst ?? Math.max(1, Math.ceil(rateLimitPerSecond ?? 1)),
    };
  }

  /** Full name of the variable behind a property, for the problems of a `crossCheck`. */
  protected variable(property: keyof this & string): string {
    return variableOf(this.constructor as SectionClass<this>, property);
  }
}
