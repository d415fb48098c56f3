import { Max, Min } from 'class-validator';
import { Setting } from '../../config/setting.js';
import { ToInteger, ToNumber } from '../../config/transforms.js';
import type { ExecutorSettings } from '../../resilience/executor-settings.js';

/** Calls that may wait for each slot (architecture §4, law 2). */
const QUEUE_PER_SLOT = 10;

/** What holds for each upstream MCP server of a policy: each has an executor of its own with these limits. */
export class UpstreamsSettings {
  static readonly section = 'UPSTREAMS';
  static readonly title = 'Upstream MCP servers';

  @Setting({ doc: 'Simultaneous calls to each upstream, per replica.', unit: 'calls' })
  @ToInteger()
  @Min(1)
  @Max(1000)
  maxConcurrency = 10;

  @Setting({ doc: 'Longest wait for a concurrency slot.', unit: 'seconds' })
  @ToNumber()
  @Min(0.001)
  @Max(600)
  acquireTimeoutSeconds = 2;

  @Setting({ doc: 'Longest time of one call once it has its slot; opening a session is inside it.', unit: 'seconds' })
  @ToNumber()
  @Min(0.001)
  @Max(600)
  operationTimeoutSeconds = 30;

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

  @Setting({ doc: 'Time a cancelled call has to stop politely before its request is ended.', unit: 'seconds' })
  @ToNumber()
  @Min(0)
  @Max(60)
  cancelGraceSeconds = 2;

  @Setting({
    doc: 'Longest time for opening one session, and for discovering one upstream at the start.',
    unit: 'seconds',
  })
  @ToNumber()
  @Min(0.1)
  @Max(300)
  connectTimeoutSeconds = 15;

  @Setting({ doc: 'Sessions open at a time with each upstream: one for each account in use.', unit: 'sessions' })
  @ToInteger()
  @Min(1)
  @Max(10_000)
  maxSessions = 64;

  @Setting({ doc: 'How long a session that nobody uses is kept.', unit: 'seconds' })
  @ToNumber()
  @Min(1)
  @Max(86_400)
  sessionIdleSeconds = 300;

  @Setting({
    doc: 'How long the definitions of a session are believed before they are compared with their pins again.',
    unit: 'seconds',
  })
  @ToNumber()
  @Min(0)
  @Max(86_400)
  verifySeconds = 60;

  @Setting({ doc: 'Largest message that is taken from an upstream.', unit: 'bytes' })
  @ToInteger()
  @Min(1024)
  @Max(67_108_864)
  maxResultBytes = 4_194_304;

  @Setting({ doc: 'Largest arguments of one call.', unit: 'bytes' })
  @ToInteger()
  @Min(256)
  @Max(16_777_216)
  maxArgumentBytes = 262_144;

  /** The same in the executor's units. */
  executorSettings(): ExecutorSettings {
    return {
      maxConcurrency: this.maxConcurrency,
      maxQueue: QUEUE_PER_SLOT * this.maxConcurrency,
      acquireTimeoutMs: 1000 * this.acquireTimeoutSeconds,
      operationTimeoutMs: 1000 * this.operationTimeoutSeconds,
      callDeadlineMs: 1000 * (this.acquireTimeoutSeconds + this.operationTimeoutSeconds),
      cancelGraceMs: 1000 * this.cancelGraceSeconds,
      failureThreshold: this.circuitFailureThreshold,
      resetTimeoutMs: 1000 * this.circuitResetTimeoutSeconds,
      successThreshold: this.circuitSuccessThreshold,
      rateLimitPerSecond: undefined,
      rateLimitBurst: 1,
    };
  }
}
