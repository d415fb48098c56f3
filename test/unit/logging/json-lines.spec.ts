import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { callContext } from '../../../src/logging/call-context.js';
import type { Fields } from '../../../src/logging/event-log.js';
import { JsonLines, MAX_LINE_BYTES } from '../../../src/logging/json-lines.js';
import { Timestamps } from '../../../src/logging/timestamps.js';

const identity = { service: 'núcleo', version: '2.0.0', environment: 'staging' };
const frozen = new Timestamps(
  () => 0,
  () => 0,
);
const lines = new JsonLines(identity, frozen);
const parsed = (fields?: Fields, cause?: unknown) =>
  JSON.parse(lines.format('INFO', 'mcp_corp.tools', 'evento', fields, cause)) as Record<string, unknown>;

describe('a line', () => {
  it('has its names in the order of the reference, then the fields, then the exception', () => {
    const context = { correlationId: 'c'.repeat(32), traceId: 't'.repeat(32) };
    const line = callContext.run(context, () =>
      lines.format('ERROR', 'mcp_corp.x', 'evento', { source: 'postgres', n: 1 }, new TypeError('roto')),
    );
    expect(line).toMatch(
      /^\{"timestamp":"1970-01-01T00:00:00\.000000\+00:00","level":"ERROR","logger":"mcp_corp\.x","message":"evento","service":"núcleo","version":"2\.0\.0","environment":"staging","correlation_id":"c{32}","trace_id":"t{32}","source":"postgres","n":1,"exception":"TypeError: roto\\n .*"\}$/,
    );
  });

  it('has no correlation id outside a call, and that of another call when told so', () => {
    expect(parsed()).not.toHaveProperty('correlation_id');
    const line = callContext.run({ correlationId: 'inside' }, () => [
      lines.format('INFO', 'l', 'e', {}, undefined, null),
      lines.format('INFO', 'l', 'e', {}, undefined, { correlationId: 'other' }),
    ]);
    expect(line[0]).not.toContain('correlation_id');
    expect(line[1]).toContain('"correlation_id":"other"');
  });

  it('never loses a field to a name it has already', () => {
    const fields = { service: 'otro', level: 7, field_level: 8, exception: 'x', timestamp: 't', port: 8000 };
    expect(parsed(fields)).toMatchObject({
      service: 'núcleo',
      field_service: 'otro',
      level: 'INFO',
      field_field_level: 7,
      field_level: 8,
      field_exception: 'x',
      field_timestamp: 't',
      port: 8000,
    });
  });

  it('does not say the same thing twice', () => {
    expect(Object.keys(parsed({ service: 'núcleo', environment: 'staging' }))).toEqual(Object.keys(parsed()));
    const line = callContext.run({ correlationId: 'abc' }, () =>
      lines.format('INFO', 'l', 'e', { correlation_id: 'abc' }),
    );
    expect(line.match(/abc/g)).toHaveLength(1);
  });

  it('lets a field be called correlation_id outside a call', () => {
    expect(parsed({ correlation_id: 'x' })).toMatchObject({ correlation_id: 'x' });
  });

  it('keeps letters that are not ASCII, and stays one line', () => {
    const line = lines.format('INFO', 'l', 'e', { detail: 'cédula ñ 漢 \n\r\u2028' });
    expect(line).toContain('cédula ñ 漢 \\n\\r');
    expect(line).not.toContain('\n');
  });

  it('turns values that JSON has not into texts', () => {
    class Money {}
    const value = {
      date: new Date(0),
      big: 12n,
      nan: Number.NaN,
      infinite: -Infinity,
      fn: () => 1,
      symbol: Symbol('s'),
      map: new Map([['nombre', 'María']]),
      money: new Money(),
      url: new URL('http://ana:clave@host/x'),
      bytes: Buffer.from('clave'),
      missing: undefined,
      nothing: null,
      error: new RangeError('"clave"'),
      list: [1, undefined, [2]],
      invalid: new Date(Number.NaN),
    };
    const { date, big, nan, infinite, fn, symbol, map, money, url, bytes, nothing, error, list, invalid, ...rest } =
      parsed(value);
    expect({ date, big, nan, infinite, fn, symbol, map, money, url, bytes, nothing, list, invalid }).toEqual({
      date: '1970-01-01T00:00:00.000Z',
      big: '12',
      nan: 'NaN',
      infinite: '-Infinity',
      fn: '[Function]',
      symbol: 'Symbol(s)',
      map: '[Map]',
      money: '[Money]',
      url: '[url]',
      bytes: '[Buffer]',
      nothing: null,
      list: [1, null, [2]],
      invalid: null,
    });
    expect(error).toMatch(/^RangeError: \[value\]/);
    expect(rest).not.toHaveProperty('missing');
  });

  it('is bounded in depth, in items and against circles', () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    let deep: unknown = 'end';
    for (let level = 0; level < 50; level += 1) deep = { deep };
    const { c, d, a } = parsed({ c: circle, d: deep, a: Array.from({ length: 5000 }, () => 1) });
    expect(c).toEqual({ self: '[circular]' });
    expect(JSON.stringify(d)).toContain('[truncated]');
    expect(a).toHaveLength(101);
  });

  it('is at most 16 KiB, says what it left out, and keeps small fields and the exception', () => {
    const fields = { a: 'ñ'.repeat(2000), b: Array.from({ length: 90 }, () => 'x'.repeat(2000)), last: 1 };
    const line = lines.format('ERROR', 'l'.repeat(500), 'e'.repeat(500), fields, new Error('roto'));
    expect(Buffer.byteLength(line)).toBeLessThanOrEqual(MAX_LINE_BYTES);
    const record = JSON.parse(line) as Record<string, unknown>;
    expect(record).toMatchObject({ truncated: true, last: 1 });
    expect(record.exception).toMatch(/^Error: roto/);
    expect(record).not.toHaveProperty('b');
  });

  it('survives values that fail when they are looked at', () => {
    const hostile = {
      get trap(): string {
        throw new Error('no');
      },
    };
    const revoked = Proxy.revocable({}, {});
    revoked.revoke();
    const json = { toJSON: () => JSON.parse('{') as unknown };
    expect(parsed({ hostile, proxy: revoked.proxy, json, after: 1 })).toMatchObject({
      hostile: '[unreadable]',
      proxy: '[unreadable]',
      json: '[unreadable]',
      after: 1,
    });
    expect(parsed(hostile)).toMatchObject({ message: 'evento', fields: '[unreadable]' });
  });

  it('is one JSON object of bounded length whatever the fields are', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.anything({ withBigInt: true, withDate: true })),
        fc.anything(),
        (fields, cause) => {
          const line = lines.format('INFO', 'l', 'e', fields, cause);
          expect(JSON.parse(line)).toMatchObject({ level: 'INFO', message: 'e', service: 'núcleo' });
          expect(line).not.toMatch(/[\n\r]/);
          expect(Buffer.byteLength(line)).toBeLessThanOrEqual(MAX_LINE_BYTES);
        },
      ),
    );
  });

  it('hides what is named like a secret or a person, at any depth', () => {
    const line = lines.format('INFO', 'l', 'e', {
      password: 'hunter2',
      row: { cedula: 16760320, nombre: 'María', deeper: [{ api_key: 'hunter2', email: 'a@b.c' }] },
      saldo: 1500000.5,
      detail: 'postgresql://app:hunter2@db/x, V-16.760.320, maria@example.com',
    });
    expect(line).not.toMatch(/hunter2|16760320|16\.760|María|a@b|1500000|maria/);
  });
});
