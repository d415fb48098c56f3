import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import pg from 'pg';
import { type PostgresConnector } from '../../../../src/connectors/postgres/postgres-connector.js';
import { valueParsers } from '../../../../src/connectors/postgres/value-parsers.js';
import { createDatabase, type TestDatabase } from '../../../support/database.js';
import { connectorTo, ping, read, statement } from './rig.js';

let database: TestDatabase;
let connector: PostgresConnector;

beforeAll(async () => {
  database = await createDatabase();
  await database.query(`create type mood as enum ('triste', 'feliz')`);
  await database.query('create domain positive as bigint check (value > 0)');
  // The server's own taste must not matter.
  await database.query(`alter database ${database.name} set datestyle = 'SQL, DMY'`);
  await database.query(`alter database ${database.name} set timezone = 'America/Caracas'`);
  await database.query(`alter database ${database.name} set intervalstyle = 'sql_standard'`);
  await database.query(`alter database ${database.name} set extra_float_digits = -3`);
  connector = connectorTo(database.dsn);
});

afterAll(async () => {
  await connector.close();
  await database.drop();
});

const valueOf = async (literal: string): Promise<unknown> => {
  const query = { ...statement<{ v: unknown }>`select`, sql: `select ${literal} as v` };
  return (await read<{ v: unknown }>(connector, query)).rows[0]?.v;
};

describe('a value of PostgreSQL reaches the model exactly', () => {
  it.each<[string, unknown]>([
    ['null::text', null],
    ["'á ✓'::text", 'á ✓'],
    ["''::text", ''],
    ['true', true],
    ['false', false],
    ['32767::int2', 32767],
    ['(-2147483648)::int4', -2147483648],
    ['9223372036854775807::int8', '9223372036854775807'],
    ['1::int8', '1'],
    ['1000.00::numeric(14,2)', '1000.00'],
    ['123456789012345678901234567890.12::numeric', '123456789012345678901234567890.12'],
    ["'NaN'::numeric", 'NaN'],
    ['0.1::float8', 0.1],
    ['0.30000000000000004::float8', 0.30000000000000004],
    ['0.1::float4', 0.1],
    ["'NaN'::float8", 'NaN'],
    ["'Infinity'::float8", 'Infinity'],
    ["'-Infinity'::float4", '-Infinity'],
    ["date '2024-02-29'", '2024-02-29'],
    ["date 'infinity'", 'infinity'],
    ["timestamp '2024-03-31 02:30:00.123456'", '2024-03-31 02:30:00.123456'],
    ["timestamptz '2024-03-31 02:30:00-04'", '2024-03-31 06:30:00+00'],
    ["time '02:30:00'", '02:30:00'],
    ["interval '1 year 2 days 03:04:05.6'", 'P1Y2DT3H4M5.6S'],
    ["'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::uuid", 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'],
    ["'feliz'::mood", 'feliz'],
    ['9007199254740993::positive', '9007199254740993'],
    ["array['a', 'b,c']", '{a,"b,c"}'],
    ["'[1,5)'::int4range", '[1,5)'],
    ["'\\xdeadbeef'::bytea", '\\xdeadbeef'],
    ["'10.0.0.1/8'::inet", '10.0.0.1/8'],
    ["'(1,2)'::point", '(1,2)'],
    ['4294967295::oid', '4294967295'],
  ])('%s', async (literal, value) => {
    expect(await valueOf(literal)).toEqual(value);
  });

  it.each<[string, unknown]>([
    [`'{"n": 12345678901234567890}'::json`, { n: '12345678901234567890' }],
    [`'{"n": 12345678901234567890}'::jsonb`, { n: '12345678901234567890' }],
    [
      `'[1500000.50, 0.1, 1e2, 1e400, 3.14159265358979323846]'::json`,
      [1500000.5, 0.1, 100, '1e400', '3.14159265358979323846'],
    ],
    [`'"12345678901234567890"'::jsonb`, '12345678901234567890'],
    [`'{"a": {"b": [null, true, "x"]}}'::jsonb`, { a: { b: [null, true, 'x'] } }],
    [`'null'::jsonb`, null],
  ])('JSON without loss: %s', async (literal, value) => {
    expect(await valueOf(literal)).toEqual(value);
  });

  it('every float8 comes back as the same double', async () => {
    await fc.assert(
      fc.asyncProperty(fc.double({ noNaN: true, noDefaultInfinity: true }), async (value) => {
        const { rows } = await read(
          connector,
          statement<{ v: number }>`select ${Object.is(value, -0) ? '-0' : String(value)}::float8 as v`,
        );
        expect(Object.is(rows[0]?.v, value)).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  it('a value that no parser can read fails its query and nothing else', async () => {
    const deep = `'${'['.repeat(6000)}${'12345678901234567890'}${']'.repeat(6000)}'::json`;
    const settled = await Promise.allSettled([valueOf(deep)]);
    expect(['fulfilled', 'rejected']).toContain(settled[0].status);
    expect((await ping(connector)).rows).toEqual([{ one: 1 }]);
  });
});

describe('the table of parsers', () => {
  it('knows a parser for every type and never throws', () => {
    fc.assert(
      fc.property(fc.integer(), (oid) => {
        const parser = valueParsers.getTypeParser(oid);
        expect(typeof parser).toBe('function');
      }),
    );
  });

  it('does not touch the one that the process shares', () => {
    const dates = pg.types.getTypeParser(1082) as (text: string) => unknown;
    expect(dates('2024-02-29')).toBeInstanceOf(Date);
  });
});
