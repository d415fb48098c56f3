import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { ConnectFailedError } from '../../../../src/connectors/postgres/postgres-errors.js';
import { type PostgresConnector } from '../../../../src/connectors/postgres/postgres-connector.js';
import { type FailureKind } from '../../../../src/resilience/connector.js';
import { createDatabase, dsnOf, type TestDatabase } from '../../../support/database.js';
import { connectorTo, ping, read, rejection, statement } from './rig.js';

let database: TestDatabase;
let connector: PostgresConnector;
const role = `poor_${process.pid}`;

beforeAll(async () => {
  database = await createDatabase();
  await database.query(`create role ${role} login password 'pobre'`);
  connector = connectorTo(database.dsn);
});

afterAll(async () => {
  await connector.close();
  await database.query(`drop owned by ${role}`);
  await database.query(`drop role ${role}`);
  await database.drop();
});

const coded = (code: string): Error => Object.assign(new pg.DatabaseError('x', 1, 'error'), { code });

describe('what an error means to the breaker', () => {
  const table: Record<FailureKind, string[]> = {
    infrastructure: [
      ...['08006', '27000', '28000', '28P01', '2F005', '38000', '39000', '3B001', '53300', '54000', '55006', '57P01'],
      ...['57P03', '58030', 'F0000', 'HV000'],
    ],
    answered: ['40001', '40P01', '57014', '55P03'],
    rejected: ['22003', '22P02', '23505', '42601', '42P01', '42501'],
    bug: [
      ...['10000', '20000', '21000', '26000', '34000', '3D000', '3F000', '44000', 'P0001', '24000', '25006', '2B000'],
      ...['2D000', 'XX000', '0A000', '', '99999'],
    ],
  };
  it.each(Object.entries(table).flatMap(([kind, codes]) => codes.map((code) => [code, kind])))(
    "SQLSTATE '%s' is %s",
    (code, kind) => {
      expect(connector.classify(coded(code))).toEqual({ kind });
    },
  );

  it.each(['28P01', '42501', '3D000', '22023'])(
    'whatever its SQLSTATE (%s), a failure while connecting is the source’s',
    (code) => {
      expect(connector.classify(new ConnectFailedError(coded(code)))).toEqual({
        kind: 'infrastructure',
        connecting: true,
      });
    },
  );

  it('anything else is a programming error', () => {
    for (const error of [new TypeError('x'), new Error('ECONNREFUSED'), 'text', undefined, { code: '08006' }]) {
      expect(connector.classify(error)).toEqual({ kind: 'bug' });
    }
  });
});

describe('the real server', () => {
  it.each([
    ['a missing table', statement`select * from no_such_table`, '42P01', 'rejected'],
    ['bad SQL', statement`selekt`, '42601', 'rejected'],
    ['a division by zero', statement`select 1 / 0`, '22012', 'rejected'],
    ['a text that is no number', statement`select ${'x'}::int`, '22P02', 'rejected'],
    ['a NUL in a text', statement`select ${'\0'}::text`, '22021', 'rejected'],
  ])('%s', async (_what, query, code, kind) => {
    const error = await rejection(read(connector, query));
    expect(error).toMatchObject({ code });
    expect(connector.classify(error)).toEqual({ kind });
    expect((await ping(connector)).rows).toEqual([{ one: 1 }]);
  });

  it('a statement that the server’s timeout ended: the source is alive', async () => {
    const hasty = connectorTo(database.dsn, { operationTimeoutMs: 40, cancelGraceMs: 10 });
    const error = await rejection(read(hasty, statement`select pg_sleep(30)`));
    expect(error).toMatchObject({ code: '57014' });
    expect(hasty.classify(error)).toEqual({ kind: 'answered' });
    expect((await ping(hasty)).rows).toEqual([{ one: 1 }]);
    await hasty.close();
  });

  it('a missing permission: our request is wrong, and the connection stays', async () => {
    const poor = connectorTo(dsnOf(database.name, { user: role, password: 'pobre' }));
    const error = await rejection(read(poor, statement`select * from clientes`));
    expect(error).toMatchObject({ code: '42501' });
    expect(poor.classify(error)).toEqual({ kind: 'rejected' });
    expect(poor.stats()).toMatchObject({ pool_size: 1, pool_available: 1 });
    await poor.close();
  });

  it.each([
    ['a wrong password', () => dsnOf(database.name, { password: 'equivocada' }), '28P01'],
    ['no password', () => dsnOf(database.name, { password: '' }), undefined],
    ['an unknown user', () => dsnOf(database.name, { user: 'nadie' }), '28P01'],
    ['an unknown database', () => dsnOf('no_such_database'), '3D000'],
    ['a port where nobody listens', () => dsnOf(database.name, { port: 1 }), 'ECONNREFUSED'],
  ])('%s: the source failed while connecting, and nothing stays open', async (_what, dsn, code) => {
    const wrong = connectorTo(dsn());
    const error = await rejection(ping(wrong));
    expect(wrong.classify(error)).toEqual({ kind: 'infrastructure', connecting: true });
    if (code !== undefined) expect((error as Error).cause).toMatchObject({ code });
    expect(wrong.stats()).toMatchObject({ pool_size: 0, requests_waiting: 0, connections_errors: 1 });
    await wrong.close();
  });

  it('says nothing of host, user, port or SQL in the text of what it throws while connecting', async () => {
    const wrong = connectorTo(dsnOf(database.name, { user: 'nadie', port: 1 }));
    expect(String(await rejection(ping(wrong)))).toBe('ConnectFailedError: no connection to PostgreSQL');
    await wrong.close();
  });
});
