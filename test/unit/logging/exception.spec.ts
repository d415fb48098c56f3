import { describe, expect, it } from '@jest/globals';
import { describeCause } from '../../../src/logging/exception.js';

class DatabaseError extends Error {
  override name = 'error';
  constructor(
    message: string,
    readonly code: string,
    readonly detail: string,
  ) {
    super(message);
  }
}

const firstLine = (cause: unknown) => describeCause(cause).split('\n')[0];

describe('the description of a cause', () => {
  it('is its class, its code, its redacted message and its frames', () => {
    const cause = new DatabaseError('duplicate key value "V16760320"', '23505', 'Key (cedula)=(V16760320)');
    const [head, ...frames] = describeCause(cause).split('\n');
    expect(head).toBe('DatabaseError [23505]: duplicate key value [value]');
    expect(frames[0]).toMatch(/^ {4}at .*\(?test\/unit\/logging\/exception\.spec\.ts:\d+:\d+\)?$/);
  });

  it('never shows other properties, paths of the machine or the message inside the stack', () => {
    const cause = new DatabaseError('row\n    at V16760320 (/home/ana/src/x.js:1:2)\n    at more', '23505', 'María');
    const text = describeCause(cause);
    expect(text).not.toMatch(/V16760320|María|\/home|ana/);
    expect(text).not.toContain(process.cwd());
  });

  it('goes down the causes and the siblings, a few of them, and ends where they turn in a circle', () => {
    const inner = Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:5432'), { code: 'ECONNREFUSED' });
    const all = new AggregateError([inner, new TypeError('x')], 'all failed');
    const outer: Error = new Error('outer', { cause: all });
    inner.cause = outer;
    expect(
      describeCause(outer)
        .split('\n')
        .filter((line) => !line.startsWith('    at ')),
    ).toEqual([
      'Error: outer',
      'caused by: AggregateError: all failed',
      'caused by: Error [ECONNREFUSED]: connect ECONNREFUSED [host]',
      'caused by: TypeError: x',
    ]);
  });

  it('is short whatever it describes', () => {
    let cause = new Error('x'.repeat(100_000));
    for (let depth = 0; depth < 100; depth += 1) cause = new Error('y'.repeat(100_000), { cause });
    expect(describeCause(cause).length).toBeLessThan(12_000);
  });

  it('takes a code only when it looks like one', () => {
    expect(firstLine(Object.assign(new Error('x'), { code: 'V16760320' }))).toBe('Error: x');
    expect(firstLine(Object.assign(new Error('x'), { code: 'hola amigo' }))).toBe('Error: x');
    expect(firstLine(Object.assign(new Error('x'), { code: 404 }))).toBe('Error [404]: x');
  });

  it('tells DOM exceptions and renamed plain errors by their name', () => {
    expect(firstLine(new DOMException('aborted', 'AbortError'))).toMatch(/^AbortError \[20\]: aborted$/);
    expect(firstLine(Object.assign(new Error('x'), { name: 'María Gómez' }))).toBe('Error: x');
  });

  it('describes anything that can be thrown, without its content', () => {
    expect(describeCause('clave "hunter2"')).toBe('clave [value]');
    expect(describeCause(null)).toBe('object');
    expect(describeCause(7)).toBe('number');
    expect(describeCause({ nombre: 'María' })).toBe('Object');
  });

  it('survives errors whose properties fail', () => {
    const hostile = new Proxy(new Error('x'), {
      get() {
        throw new Error('no');
      },
    });
    expect(describeCause(hostile)).toBe('Error');
  });
});
