import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { type PostgresConnector } from '../../../../src/connectors/postgres/postgres-connector.js';
import { createDatabase, dsnOf, type TestDatabase, testServer } from '../../../support/database.js';
import { FaultProxy } from '../../../support/fault-proxy.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { RecordedLog } from '../support/recorded-log.js';
import {
  activity,
  connectorTo,
  deferred,
  heldTogether,
  ping,
  read,
  rejection,
  Signals,
  statement,
  until,
} from './rig.js';

let database: TestDatabase;
const forever = new AbortController().signal;

beforeAll(async () => {
  database = await createDatabase();
});

afterAll(() => database.drop());

const nowhere = () => dsnOf(database.name, { port: 1 });

/** Takes connections and never says a word. */
async function muteServer(): Promise<{ port: number; close: () => Promise<void> }> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket.on('error', () => socket.destroy()));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  return {
    port,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

describe('connect', () => {
  it('opens the connections that are to be kept open, and says so once', async () => {
    const log = new RecordedLog();
    const connector = connectorTo(database.dsn, { minPoolSize: 3, maxPoolSize: 4, log });
    await connector.connect(forever);
    await connector.connect(forever);
    expect(connector.stats()).toMatchObject({
      pool_min: 3,
      pool_max: 4,
      pool_size: 3,
      pool_available: 3,
      requests_waiting: 0,
    });
    expect(log.lines).toEqual([
      {
        level: 'INFO',
        event: 'connector_pool_opened',
        fields: { source: 'postgres', min_pool_size: 3, max_pool_size: 4 },
      },
    ]);
    await connector.close();
  });

  it('notices a source that is down also when no connection is to be kept open', async () => {
    const log = new RecordedLog();
    const connector = connectorTo(nowhere(), { log });
    const error = await rejection(connector.connect(forever));
    await rejection(connector.connect(forever));
    expect(connector.classify(error)).toEqual({ kind: 'infrastructure', connecting: true });
    expect(log.lines).toEqual([
      {
        level: 'WARNING',
        event: 'connector_pool_degraded_start',
        fields: {
          source: 'postgres',
          detail: 'Postgres no está disponible; arranca en modo degradado',
          error: 'ECONNREFUSED',
        },
      },
    ]);
    await connector.close();
  });

  it('gives up when its time is over, with the text of the reference, and leaves no socket', async () => {
    const mute = await muteServer();
    const log = new RecordedLog();
    const clock = new FakeClock();
    const dsn = `postgresql://u:p@127.0.0.1:${mute.port}/x?sslmode=disable`;
    const connector = connectorTo(dsn, { minPoolSize: 2, openTimeoutMs: 10_000, clock, log });
    const failed = rejection(connector.connect(forever));
    await clock.advance(9_999);
    expect(log.lines).toEqual([]);
    await clock.advance(1);
    expect(connector.classify(await failed)).toEqual({ kind: 'infrastructure', connecting: true });
    expect(log.named('connector_pool_degraded_start')[0]?.fields).toMatchObject({
      detail: 'Postgres no respondió a tiempo; arranca en modo degradado',
    });
    expect(connector.stats()).toMatchObject({ pool_size: 0 });
    await connector.close();
    await mute.close();
  });

  it('ends at once when it is aborted', async () => {
    const mute = await muteServer();
    const connector = connectorTo(`postgresql://u:p@127.0.0.1:${mute.port}/x?sslmode=disable`);
    const giveUp = new AbortController();
    const failed = rejection(connector.connect(giveUp.signal));
    giveUp.abort();
    await failed;
    await connector.close();
    await mute.close();
  });

  it('works again when the source is back, also without anybody calling it', async () => {
    const proxy = await FaultProxy.start({ port: testServer().port });
    await proxy.set('refuse');
    const log = new RecordedLog();
    const connector = connectorTo(dsnOf(database.name, { port: proxy.port }), { minPoolSize: 2, log });
    await rejection(connector.connect(forever));
    await proxy.set('pass');
    expect((await ping(connector)).rows).toEqual([{ one: 1 }]);
    await connector.connect(forever);
    expect(log.lines.map(({ event }) => event)).toEqual(['connector_pool_degraded_start', 'connector_pool_opened']);
    await connector.close();
    await proxy.close();
  });

  it('is not needed: a call works before it', async () => {
    const connector = connectorTo(database.dsn);
    expect((await ping(connector)).rows).toEqual([{ one: 1 }]);
    await connector.close();
  });
});

describe('health', () => {
  it('is what a real question gets', async () => {
    const connector = connectorTo(database.dsn);
    expect(await connector.health(forever)).toBe(true);
    await connector.close();
  });

  it('is false, and logged without a message, when the source is down', async () => {
    const log = new RecordedLog();
    const connector = connectorTo(nowhere(), { log });
    expect(await connector.health(forever)).toBe(false);
    expect(log.lines).toEqual([
      {
        level: 'WARNING',
        event: 'connector_health_check_failed',
        fields: { source: 'postgres', error: 'ECONNREFUSED' },
      },
    ]);
    await connector.close();
  });

  it('is false after three seconds without an answer, and the question does not stay behind', async () => {
    const mute = await muteServer();
    const clock = new FakeClock();
    const connector = connectorTo(`postgresql://u:p@127.0.0.1:${mute.port}/x?sslmode=disable`, { clock });
    let answer: boolean | undefined;
    const asked = connector.health(forever).then((healthy) => (answer = healthy));
    await clock.advance(2_999);
    expect(answer).toBeUndefined();
    await clock.advance(1);
    expect(await asked).toBe(false);
    await clock.advance(1_000);
    await until(
      () => connector.stats()['pool_size'],
      (size) => size === 0,
    );
    await connector.close();
    await mute.close();
  });

  it('is false at once when it is aborted', async () => {
    const mute = await muteServer();
    const connector = connectorTo(`postgresql://u:p@127.0.0.1:${mute.port}/x?sslmode=disable`);
    const giveUp = new AbortController();
    const asked = connector.health(giveUp.signal);
    giveUp.abort();
    expect(await asked).toBe(false);
    expect(await connector.health(giveUp.signal)).toBe(false);
    await connector.close();
    await mute.close();
  });

  it('takes no connection from a pool that is busy while operations succeed (B12)', async () => {
    const connector = connectorTo(database.dsn, { maxPoolSize: 2 });
    await ping(connector);
    const done = deferred();
    const begun = [deferred(), deferred()];
    const runs = begun.map((each) =>
      connector.run(async () => {
        each.resolve();
        await done.promise;
      }, new Signals()),
    );
    await Promise.all(begun.map(({ promise }) => promise));
    const { requests_num } = connector.stats();
    expect(await connector.health(forever)).toBe(true);
    expect(connector.stats()['requests_num']).toBe(requests_num);
    done.resolve();
    await Promise.all(runs);
    await connector.close();
  });

  it('is false for a busy pool whose last operation the source failed', async () => {
    const proxy = await FaultProxy.start({ port: testServer().port });
    const connector = connectorTo(dsnOf(database.name, { port: proxy.port }), { maxPoolSize: 1 });
    const lost = rejection(read(connector, statement`select pg_sleep(30)`));
    await until(
      () => activity(database.dsn, database.name),
      (sessions) => sessions.some(({ query }) => query.includes('pg_sleep')),
    );
    await proxy.set('reset');
    await lost;
    await proxy.set('blackhole');
    const signals = new Signals();
    const stuck = rejection(read(connector, statement`select 1`, signals));
    await proxy.untilAccepted(2);
    expect(await connector.health(forever)).toBe(false);
    signals.destroy();
    await stuck;
    await connector.close();
    await proxy.close();
  });
});

describe('close', () => {
  it('says goodbye, leaves no session at the server, and is told once', async () => {
    const log = new RecordedLog();
    const connector = connectorTo(database.dsn, { log });
    await heldTogether(connector, 3);
    await Promise.all([connector.close(), connector.close()]);
    await until(
      () => activity(database.dsn, database.name),
      (sessions) => sessions.length === 0,
    );
    expect(log.lines).toEqual([{ level: 'INFO', event: 'connector_pool_closed', fields: { source: 'postgres' } }]);
  });

  it('refuses what comes after it (the reference: close_then_run_is_rejected)', async () => {
    const connector = connectorTo(database.dsn);
    await ping(connector);
    await connector.close();
    expect(await rejection(ping(connector))).toMatchObject({ name: 'ConnectorClosedError' });
    expect(await connector.health(forever)).toBe(false);
  });

  it('destroys after one second what has not come back', async () => {
    const connector = connectorTo(database.dsn);
    const run = rejection(read(connector, statement`select pg_sleep(30)`));
    await until(
      () => activity(database.dsn, database.name),
      (sessions) => sessions.some(({ query }) => query.includes('pg_sleep')),
    );
    const begun = performance.now();
    await connector.close();
    const took = performance.now() - begun;
    expect(connector.classify(await run)).toEqual({ kind: 'infrastructure' });
    expect(took).toBeGreaterThan(900);
    expect(took).toBeLessThan(3_000);
  });

  it('answers those who wait for a connection, and destroys those that are being opened', async () => {
    const mute = await muteServer();
    const connector = connectorTo(`postgresql://u:p@127.0.0.1:${mute.port}/x?sslmode=disable`, { maxPoolSize: 1 });
    const opening = rejection(ping(connector));
    const waiting = rejection(ping(connector));
    await connector.close();
    expect(await waiting).toMatchObject({ name: 'ConnectorClosedError' });
    expect(connector.classify(await opening)).toEqual({ kind: 'infrastructure', connecting: true });
    await mute.close();
  });
});

describe('the figures', () => {
  it('count what the reference counts, under its keys', async () => {
    const connector: PostgresConnector = connectorTo(database.dsn, { minPoolSize: 1, maxPoolSize: 2 });
    expect(connector.stats()).toEqual({
      pool_min: 1,
      pool_max: 2,
      pool_size: 0,
      pool_available: 0,
      requests_waiting: 0,
    });
    await ping(connector);
    const stats = connector.stats();
    expect(stats).toMatchObject({ pool_size: 1, pool_available: 1, requests_num: 1, connections_num: 1 });
    expect(Object.values(stats).every(Number.isInteger)).toBe(true);
    await connector.close();
  });
});
