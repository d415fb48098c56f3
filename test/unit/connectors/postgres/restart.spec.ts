import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type RunningPostgres, startPostgres } from '../../../../scripts/postgres.mjs';
import { dsnOf, createDatabase, testServer } from '../../../support/database.js';
import { FaultProxy } from '../../../support/fault-proxy.js';
import { activity, connectorTo, heldTogether, ping, read, rejection, statement, until } from './rig.js';

let server: RunningPostgres;

beforeAll(async () => {
  server = await startPostgres();
});

afterAll(() => server.stop());

describe('a server that is restarted', () => {
  it('while all connections are idle costs nobody a call', async () => {
    const connector = connectorTo(server.dsn, { maxPoolSize: 8 });
    await heldTogether(connector, 8);
    expect(connector.stats()).toMatchObject({ pool_available: 8 });
    await server.halt();
    await server.resume();
    const answers = await Promise.all(Array.from({ length: 8 }, () => ping(connector)));
    expect(answers.map(({ rows }) => rows[0]?.one)).toEqual(Array(8).fill(1));
    await connector.close();
  });

  it('while a statement runs costs that call, and the next one works', async () => {
    const connector = connectorTo(server.dsn);
    const run = rejection(read(connector, statement`select pg_sleep(30)`));
    await until(
      () => activity(server.dsn, 'mcp_corp'),
      (sessions) => sessions.some(({ query }) => query.includes('pg_sleep')),
    );
    await server.halt();
    const error = await run;
    expect(connector.classify(error)).toEqual({ kind: 'infrastructure' });
    expect(connector.classify(await rejection(ping(connector)))).toEqual({ kind: 'infrastructure', connecting: true });
    await server.resume();
    expect((await ping(connector)).rows).toEqual([{ one: 1 }]);
    await connector.close();
  });

  it('by a crash is no different', async () => {
    const connector = connectorTo(server.dsn, { maxPoolSize: 3 });
    await heldTogether(connector, 3);
    await server.halt('immediate');
    await server.resume();
    expect((await ping(connector)).rows).toEqual([{ one: 1 }]);
    await connector.close();
  });
});

describe('connections that died while they were idle, unnoticed', () => {
  it('are found out by the first call, which is served all the same, and cost no other call anything', async () => {
    const database = await createDatabase();
    const { port } = testServer();
    // The network delays the news: the server ends its sessions, and the proxy tells the client only when it writes.
    let cut = false;
    const cutOff = new Set<number>();
    const proxy = await FaultProxy.start({
      port,
      request: (chunk, connection) => {
        if (cut && connection <= 4) {
          cutOff.add(connection);
          proxy.reset(connection);
        }
        return chunk;
      },
    });
    const connector = connectorTo(dsnOf(database.name, { port: proxy.port }), { maxPoolSize: 4 });
    await heldTogether(connector, 4);
    expect([proxy.accepted, connector.stats()['pool_available']]).toEqual([4, 4]);
    cut = true;
    const answers = await Promise.all([1, 2, 3].map(() => ping(connector)));
    expect(answers.map(({ rows }) => rows[0]?.one)).toEqual([1, 1, 1]);
    expect(cutOff.size).toBeGreaterThan(0);
    // What was idle beside them has gone without being tried.
    await until(
      () => proxy.open,
      (open) => open <= 3,
    );
    await connector.close();
    await proxy.close();
    await database.drop();
  });

  it('are not tried again when the statement had begun', async () => {
    const database = await createDatabase();
    const proxy = await FaultProxy.start({ port: testServer().port });
    const connector = connectorTo(dsnOf(database.name, { port: proxy.port }), { maxPoolSize: 1 });
    await ping(connector);
    const run = rejection(read(connector, statement`select pg_sleep(30)`));
    await until(
      () => activity(database.dsn, database.name),
      (sessions) => sessions.some(({ state, query }) => state === 'active' && query.includes('pg_sleep')),
    );
    await proxy.set('reset');
    await proxy.set('pass');
    expect(connector.classify(await run)).toEqual({ kind: 'infrastructure' });
    expect(proxy.accepted).toBe(1);
    await connector.close();
    await proxy.close();
    await database.drop();
  });

  it('cost a call once and not again: a second death is the source’s failure', async () => {
    const database = await createDatabase();
    let cut = false;
    const proxy = await FaultProxy.start({
      port: testServer().port,
      request: (chunk, connection) => {
        if (cut) proxy.reset(connection);
        return chunk;
      },
    });
    const connector = connectorTo(dsnOf(database.name, { port: proxy.port }), { maxPoolSize: 1 });
    await ping(connector);
    cut = true;
    expect(connector.classify(await rejection(ping(connector)))).toEqual({ kind: 'infrastructure', connecting: true });
    expect(proxy.accepted).toBe(2);
    await connector.close();
    await proxy.close();
    await database.drop();
  });
});
