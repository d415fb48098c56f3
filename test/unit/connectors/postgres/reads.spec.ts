import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type PostgresConnector } from '../../../../src/connectors/postgres/postgres-connector.js';
import { type PostgresLease } from '../../../../src/connectors/postgres/read-lease.js';
import { createDatabase, dsnOf, type TestDatabase, testServer } from '../../../support/database.js';
import { FaultProxy } from '../../../support/fault-proxy.js';
import { activity, connectorTo, ping, read, rejection, Signals, statement } from './rig.js';

let database: TestDatabase;
let connector: PostgresConnector;

beforeAll(async () => {
  database = await createDatabase();
  connector = connectorTo(database.dsn, { caps: { maxRows: 100, maxBytes: 65_536 } });
});

afterAll(async () => {
  await connector.close();
  await database.drop();
});

const series = (rows: number) => statement<{ n: number }>`select n from generate_series(1, ${rows}) as n`;

describe('a read', () => {
  it('binds its parameters', async () => {
    const query = statement<{ balance: string }>`select balance from accounts where name = ${'cuenta-demo-1'}`;
    expect(await read(connector, query)).toEqual({ rows: [{ balance: '1000.00' }], truncated: false });
  });

  it('cannot write', async () => {
    const error = await rejection(read(connector, statement`delete from clientes`));
    expect(error).toMatchObject({ code: '25006' });
    expect(await database.query('select count(*)::int as n from clientes')).toEqual([{ n: 4 }]);
  });

  it('is one statement, also where SQL was glued together', async () => {
    const glued = statement`select 1; select 2`;
    expect(await rejection(read(connector, glued))).toMatchObject({ code: '42601' });
  });

  it('leaves nothing behind in its session: no setting, no named statement, no open transaction', async () => {
    const alone = connectorTo(database.dsn, { maxPoolSize: 1 });
    for (let i = 0; i < 8; i += 1) await ping(alone);
    const { rows } = await read(
      alone,
      statement<{ prepared: number; names: number }>`select
        (select count(*)::int from pg_prepared_statements where name <> '') as prepared,
        (select count(*)::int from pg_cursors where name <> '') as names`,
    );
    expect(rows).toEqual([{ prepared: 0, names: 0 }]);
    const sessions = await activity(database.dsn, database.name);
    expect(sessions.filter(({ state }) => state !== 'idle')).toEqual([]);
    await alone.close();
  });

  it('tells the server who asks, how long it may take, and to watch the connection', async () => {
    const { rows } = await read(
      connector,
      statement`select current_setting('application_name') as name, current_setting('statement_timeout') as timeout,
        current_setting('transaction_read_only') as read_only, current_setting('client_connection_check_interval') as watch`,
    );
    expect(rows).toEqual([{ name: 'mcp-corp-under-test', timeout: '12s', read_only: 'on', watch: '1s' }]);
  });

  it('takes one round trip on a connection that is open', async () => {
    const { port } = testServer();
    const requests: number[] = [];
    const proxy = await FaultProxy.start({
      port,
      request: (chunk, connection) => {
        requests.push(connection);
        return chunk;
      },
    });
    const far = connectorTo(dsnOf(database.name, { port: proxy.port }));
    await ping(far);
    requests.length = 0;
    await ping(far);
    expect(requests).toEqual([1]);
    await far.close();
    await proxy.close();
  });

  it('goes on without the connection check on a server that does not know it', async () => {
    const { port } = testServer();
    const unknown = 'client_connection_check_intervax';
    let asked = 0;
    const proxy = await FaultProxy.start({
      port,
      request: (chunk) => {
        const text = chunk.toString('latin1');
        if (text.includes('client_connection_check_interval')) asked += 1;
        return Buffer.from(text.replace('client_connection_check_interval', unknown), 'latin1');
      },
    });
    const old = connectorTo(dsnOf(database.name, { port: proxy.port }));
    expect((await ping(old)).rows).toEqual([{ one: 1 }]);
    expect((await ping(old)).rows).toEqual([{ one: 1 }]);
    expect(asked).toBe(1);
    await old.close();
    await proxy.close();
  });
});

describe('the caps of a read', () => {
  it.each([
    [99, 99, false],
    [100, 100, false],
    [101, 100, true],
    [100_000, 100, true],
  ])('of %d rows give %d, and truncated says %s', async (asked, given, truncated) => {
    const result = await read(connector, series(asked));
    expect(result.rows).toHaveLength(given);
    expect(result.truncated).toBe(truncated);
  });

  it('stop the server at the row cap, whatever the statement would have produced', async () => {
    const before = performance.now();
    const endless = statement<{
      n: number;
    }>`with recursive r(n) as (select 1 union all select n + 1 from r) select n from r`;
    const { rows, truncated } = await read(connector, endless);
    expect([rows.length, rows.at(-1), truncated]).toEqual([100, { n: 100 }, true]);
    expect(performance.now() - before).toBeLessThan(5_000);
  });

  it('cut at whole rows when the bytes are used up', async () => {
    const wide = statement<{
      n: number;
      text: string;
    }>`select n, repeat('x', 10000) as text from generate_series(1, 50) as n`;
    const { rows, truncated } = await read(connector, wide);
    expect(truncated).toBe(true);
    expect(rows.map(({ n }) => n)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(rows.every(({ text }) => text.length === 10_000)).toBe(true);
  });

  it('refuse a single row that is larger than all bytes allowed, and do not take it into memory', async () => {
    const huge = statement`select repeat('x', 40 * 1024 * 1024) as text`;
    const before = process.memoryUsage().arrayBuffers + process.memoryUsage().external;
    const error = await rejection(read(connector, huge));
    const after = process.memoryUsage().arrayBuffers + process.memoryUsage().external;
    expect(connector.classify(error)).toEqual({ kind: 'rejected' });
    expect(after - before).toBeLessThan(16 * 1024 * 1024);
    expect((await ping(connector)).rows).toEqual([{ one: 1 }]);
  });

  it('give the rows that fit when what follows is far too large', async () => {
    const growing = statement<{
      n: number;
    }>`select n, repeat('x', case when n = 3 then 20 * 1024 * 1024 else 10 end) as text
      from generate_series(1, 5) as n`;
    const { rows, truncated } = await read(connector, growing);
    expect(rows.map(({ n }) => n)).toEqual([1, 2]);
    expect(truncated).toBe(true);
    expect((await ping(connector)).rows).toEqual([{ one: 1 }]);
  });
});

describe('a lease', () => {
  it('serves several statements, one after the other', async () => {
    const sum = await connector.run(async (lease) => {
      const a = await lease.query(series(1));
      const b = await lease.query(series(2));
      return a.rows.length + b.rows.length;
    }, new Signals());
    expect(sum).toBe(3);
  });

  it('goes on after a statement that failed', async () => {
    const rows = await connector.run(async (lease) => {
      await rejection(lease.query(statement`select * from no_such_table`));
      return (await lease.query(series(1))).rows;
    }, new Signals());
    expect(rows).toEqual([{ n: 1 }]);
  });

  it('refuses a second statement beside the first', async () => {
    const errors = await connector.run(async (lease) => {
      const first = lease.query(series(1));
      const error = await rejection(lease.query(series(1)));
      await first;
      return error;
    }, new Signals());
    expect(connector.classify(errors)).toEqual({ kind: 'bug' });
  });

  it('is dead after its run: a late statement is rejected and reaches nobody else', async () => {
    let kept: PostgresLease | undefined;
    await connector.run(async (lease) => {
      kept = lease;
    }, new Signals());
    expect(await rejection(kept?.query(series(1)) ?? Promise.resolve())).toMatchObject({
      message: 'the lease has ended',
    });
  });

  it('is taken back clean from an operation that leaves its statement behind', async () => {
    const left = connectorTo(database.dsn, { maxPoolSize: 1 });
    let statementError: Promise<unknown> | undefined;
    await left.run(async (lease) => {
      statementError = rejection(lease.query(statement`select pg_sleep(30)`));
    }, new Signals());
    expect(await statementError).toMatchObject({ code: '57014' });
    expect((await ping(left)).rows).toEqual([{ one: 1 }]);
    await left.close();
  });

  it.each([[new Date(0)], [{ a: 1 }], [['a']], [undefined], [Buffer.from('x')]])(
    'refuses a parameter without one exact form in SQL: %p',
    async (value) => {
      const error = await rejection(
        read(connector, { ...statement`select $1`, sql: 'select $1', parameters: [value] }),
      );
      expect(connector.classify(error)).toEqual({ kind: 'bug' });
    },
  );

  it('accepts text, numbers, bigints, booleans and null', async () => {
    const query = statement`select ${'á'}::text as t, ${1.5}::float8 as n, ${12345678901234567890n}::numeric as b,
      ${true}::bool as f, ${null}::text as z`;
    expect((await read(connector, query)).rows).toEqual([
      { t: 'á', n: 1.5, b: '12345678901234567890', f: true, z: null },
    ]);
  });
});
