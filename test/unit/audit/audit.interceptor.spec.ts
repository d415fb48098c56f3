import { describe, expect, it } from '@jest/globals';
import {
  Catch,
  Injectable,
  UseFilters,
  UseInterceptors,
  type CallHandler,
  type ExceptionFilter,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { ExternalContextCreator } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { EMPTY, type Observable } from 'rxjs';
import { AuditInterceptor } from '../../../src/audit/audit.interceptor.js';
import type { McpCall } from '../../../src/mcp/call.js';
import { CallError } from '../../../src/mcp/errors.js';
import type { Result } from '../../../src/mcp/results.js';
import { bench, callOf, type Bench } from './doubles.js';

type Method = (call: McpCall) => Promise<unknown>;

/** What comes after the audit in CALL_STEPS, as a function. */
class Step implements NestInterceptor {
  constructor(private readonly before: (call: McpCall) => void) {}
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    this.before(context.getArgByIndex<McpCall>(0));
    return next.handle();
  }
}

class Swallow implements NestInterceptor {
  intercept(): Observable<unknown> {
    return EMPTY;
  }
}

@Catch()
class PassOn implements ExceptionFilter {
  catch(error: unknown): never {
    throw error;
  }
}

/** The method behind the audit in Nest's own pipeline. */
function pipeline(b: Bench, method: Method, ...steps: NestInterceptor[]): Promise<Method> {
  return nest(method, new AuditInterceptor(b.trail), ...steps);
}

async function nest(method: Method, ...steps: NestInterceptor[]): Promise<Method> {
  @Injectable()
  class Entry {
    call(call: McpCall): Promise<unknown> {
      return method(call);
    }
  }
  UseFilters(new PassOn())(Entry);
  UseInterceptors(...steps)(Entry);
  const module = await Test.createTestingModule({ providers: [Entry] }).compile();
  const entry = module.get(Entry);
  const creator = module.get(ExternalContextCreator, { strict: false });
  const options = { guards: false, interceptors: true, filters: true };
  // Nest types what it calls as taking anything.
  const callback = entry.call as (...args: unknown[]) => unknown;
  return creator.create(entry, callback, 'call', undefined, undefined, undefined, undefined, options, 'mcp') as Method;
}

/** The audit walked in promises, and the later steps inside of what it calls. */
async function walk(b: Bench, method: Method, ...steps: NestInterceptor[]): Promise<Method> {
  const inner = steps.length === 0 ? method : await nest(method, ...steps);
  const audit = new AuditInterceptor(b.trail);
  return (call) => audit.around(call, async () => (await inner(call)) as Result);
}

const ends = (b: Bench) => b.sink.records.filter(({ result }) => result !== undefined);

describe.each([
  ["Nest's pipeline", pipeline],
  ['promises', walk],
])('AuditInterceptor in %s', (_how, pipeline) => {
  it('writes the start before the method and the end after it, and changes nothing', async () => {
    const b = bench();
    const order: unknown[] = [];
    const run = await pipeline(b, async () => {
      order.push(b.sink.records.length);
      return { nombre: 'x' };
    });
    await expect(run(callOf({ outcome: () => 'partial' }))).resolves.toEqual({ nombre: 'x' });
    expect(order).toEqual([1]);
    expect(ends(b)).toMatchObject([{ result: 'partial' }]);
  });

  it('records the code of a failure and lets the error pass', async () => {
    const b = bench();
    const error = new CallError('not_found', 'No existe el cliente V16760320');
    const run = await pipeline(b, () => Promise.reject(error));
    await expect(run(callOf())).rejects.toBe(error);
    expect(ends(b)).toMatchObject([{ result: 'failure', reason: 'not_found' }]);
    expect(b.sink.lines.join()).not.toContain('16760320');
  });

  it.each([
    [
      'a refusal',
      new CallError('not_granted', 'no', { result: 'denied' }),
      { result: 'denied', reason: 'not_granted' },
    ],
    ['invalid arguments', new CallError('invalid_arguments', 'no'), { result: 'failure', reason: 'invalid_arguments' }],
    ['a crash', new TypeError('x is not a function'), { result: 'failure', reason: 'internal_error' }],
  ])('records %s by a later step, and the method never runs', async (_what, error, expected) => {
    const b = bench();
    let ran = false;
    const step = new Step(() => {
      throw error;
    });
    const run = await pipeline(
      b,
      async () => {
        ran = true;
      },
      step,
    );
    await expect(run(callOf())).rejects.toBe(error);
    expect(ran).toBe(false);
    expect(ends(b)).toMatchObject([expected]);
  });

  it('ends also a call that gives no value at all', async () => {
    const b = bench();
    const run = await pipeline(b, () => Promise.resolve(), new Swallow());
    await expect(run(callOf())).rejects.toThrow();
    expect(ends(b)).toMatchObject([{ result: 'failure', reason: 'internal_error' }]);
  });

  it('does not run the method of a call that the trail refuses', async () => {
    const b = bench();
    b.sink.failure = { code: 'EPIPE', at: 0 };
    let ran = false;
    const run = await pipeline(b, async () => {
      ran = true;
    });
    await expect(run(callOf())).rejects.toMatchObject({ code: 'audit_unavailable' });
    expect(ran).toBe(false);
  });

  it('records an aborted call when the abort reaches its method', async () => {
    const b = bench();
    const abort = new AbortController();
    const run = await pipeline(
      b,
      (call) =>
        new Promise((_resolve, reject) => {
          call.signal.addEventListener('abort', () => reject(new Error('aborted')));
        }),
    );
    const running = run(callOf({ signal: abort.signal }));
    await started(b);
    abort.abort();
    await expect(running).rejects.toThrow('aborted');
    expect(ends(b)).toMatchObject([{ result: 'cancelled', reason: 'cancelled' }]);
    expect(b.trail.openCount).toBe(0);
  });

  it('leaves a call whose method ignores its signal open, for shutdown to cut; its late end writes nothing', async () => {
    const b = bench();
    const abort = new AbortController();
    let finish: (value: unknown) => void = () => undefined;
    const run = await pipeline(b, () => new Promise((resolve) => (finish = resolve)));
    const running = run(callOf({ signal: abort.signal }));
    await started(b);
    abort.abort();
    expect(ends(b)).toHaveLength(0);
    expect(b.trail.cutOpen('shutdown')).toBe(1);
    finish({});
    await expect(running).resolves.toEqual({});
    expect(ends(b)).toMatchObject([{ result: 'cancelled', reason: 'shutdown' }]);
  });

  it('keeps the records of calls at the same time apart', async () => {
    const b = bench();
    const run = await pipeline(b, (call) =>
      call.kind === 'tool' ? Promise.resolve({}) : Promise.reject(new CallError('timeout', 'x')),
    );
    const calls = Array.from({ length: 20 }, (_, i) =>
      callOf(i % 2 === 0 ? {} : { kind: 'resource', name: 'data://x' }),
    );
    await Promise.allSettled(calls.map(run));
    for (const call of calls) {
      const own = b.sink.records.filter((record) => record.correlation_id === call.correlationId);
      expect(own).toHaveLength(2);
      expect(own[1]?.result).toBe(call.kind === 'tool' ? 'success' : 'failure');
    }
  });
});

/** The start is written in the turn in which the pipeline reaches the audit. */
async function started(b: Bench): Promise<void> {
  while (b.sink.records.length === 0) await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
}
