import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createDatabase, dsnOf, type TestDatabase, testServer } from '../../../support/database.js';
import { FaultProxy } from '../../../support/fault-proxy.js';
import { activity, connectorTo, deferred, ping, read, rejection, Signals, statement, until } from './rig.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});

afterAll(() => database.drop());

const sleep = (seconds: number) => statement`select pg_sleep(${seconds})`;
const sleeping = async (): Promise<number> => {
  const sessions = await activity(database.dsn, database.name);
  return sessions.filter(({ state, query }) => state === 'active' && query.includes('pg_sleep')).length;
};
const throughProxy = async (options: Parameters<typeof connectorTo>[1] = {}) => {
  const proxy = await FaultProxy.start({ port: testServer().port });
  const connector = connectorTo(dsnOf(database.name, { port: proxy.port }), options);
  return { proxy, connector };
};

describe('stopping politely', () => {
  it('ends the statement at the server and keeps the connection', async () => {
    const connector = connectorTo(database.dsn, { maxPoolSize: 1 });
    const signals = new Signals();
    const run = rejection(read(connector, sleep(30), signals));
    await until(sleeping, (count) => count === 1);
    const reason = new Error('the caller left');
    signals.stop(reason);
    expect(await run).toBe(reason);
    expect(await sleeping()).toBe(0);
    await ping(connector);
    expect(connector.stats()).toMatchObject({ pool_size: 1, connections_num: 1 });
    expect(connector.stats()).not.toHaveProperty('returns_bad');
    await connector.close();
  });

  it('never cancels the statement of the next borrower', async () => {
    const connector = connectorTo(database.dsn, { maxPoolSize: 1 });
    for (let i = 0; i < 60; i += 1) {
      const signals = new Signals();
      const run = rejection(read(connector, sleep(30), signals));
      // Anywhere between before the statement and inside it.
      for (let turns = i % 12; turns > 0; turns -= 1) await new Promise(setImmediate);
      signals.stop();
      await run;
      const innocent = statement<{ n: number }>`select count(*)::int as n from generate_series(1, 20000)`;
      expect((await read(connector, innocent)).rows).toEqual([{ n: 20_000 }]);
    }
    await connector.close();
  });

  it('does nothing at all when it comes before the run', async () => {
    const connector = connectorTo(database.dsn);
    const signals = new Signals();
    signals.stop();
    await rejection(read(connector, sleep(30), signals));
    expect(connector.stats()).not.toHaveProperty('requests_num');
    await connector.close();
  });

  it('settles although the operation itself ignores it for ever', async () => {
    const connector = connectorTo(database.dsn, { maxPoolSize: 1 });
    const signals = new Signals();
    const run = rejection(connector.run(() => new Promise<never>(() => undefined), signals));
    await until(
      () => connector.stats()['pool_size'],
      (size) => size === 1,
    );
    await until(
      () => activity(database.dsn, database.name),
      (sessions) => sessions.some(({ state }) => state === 'idle'),
    );
    signals.stop();
    await run;
    expect((await ping(connector)).rows).toEqual([{ one: 1 }]);
    expect(connector.stats()).toMatchObject({ connections_num: 1 });
    await connector.close();
  });

  it('lets a connection finish that is being opened, and keeps it for the next', async () => {
    const { proxy, connector } = await throughProxy({ maxPoolSize: 1 });
    await proxy.set({ mode: 'slowDrip', intervalMs: 1 });
    const signals = new Signals();
    const run = rejection(read(connector, sleep(30), signals));
    await proxy.untilAccepted(1);
    signals.stop();
    await run;
    await proxy.set('pass');
    await ping(connector);
    expect(proxy.accepted).toBe(1);
    await connector.close();
    await proxy.close();
  });

  it('does not lend a connection again to which a cancel is under way, although its statement ended by itself', async () => {
    const proxy = await FaultProxy.start({
      port: testServer().port,
      request: (chunk, connection) => (connection === 2 ? Buffer.alloc(0) : chunk), // the cancel gets stuck
    });
    const connector = connectorTo(dsnOf(database.name, { port: proxy.port }), { maxPoolSize: 1 });
    const signals = new Signals();
    let settled = false;
    const run = rejection(read(connector, sleep(0.2), signals)).finally(() => (settled = true));
    await until(sleeping, (count) => count === 1);
    signals.stop();
    await until(sleeping, (count) => count === 0);
    await proxy.untilAccepted(2);
    expect(settled).toBe(false);
    signals.destroy();
    await run;
    expect(connector.stats()).toMatchObject({ pool_size: 0, returns_bad: 1 });
    await connector.close();
    await proxy.close();
  });

  it('does not lend a connection again whose statement ended by itself, although the cancel was delivered', async () => {
    const proxy = await FaultProxy.start({
      port: testServer().port,
      // The server closes the cancel's socket as ever, but the key is not the session's.
      request: (chunk, connection) =>
        connection === 1 ? chunk : Buffer.concat([chunk.subarray(0, 12), Buffer.alloc(4)]),
    });
    const connector = connectorTo(dsnOf(database.name, { port: proxy.port }), { maxPoolSize: 1 });
    const signals = new Signals();
    const run = rejection(read(connector, sleep(0.3), signals));
    await until(sleeping, (count) => count === 1);
    signals.stop();
    await run;
    expect(connector.stats()).toMatchObject({ pool_size: 0, returns_bad: 1 });
    await connector.close();
    await proxy.close();
  });
});

describe('kill', () => {
  it('destroys a connection whose server does not answer, and drops the idle ones', async () => {
    const { proxy, connector } = await throughProxy({ maxPoolSize: 3 });
    await Promise.all([ping(connector), ping(connector), ping(connector)]);
    await until(
      () => connector.stats()['pool_available'],
      (idle) => idle === 3,
    );
    await proxy.set('blackhole');
    const signals = new Signals();
    const run = rejection(read(connector, sleep(30), signals));
    await until(
      () => connector.stats()['pool_available'],
      (idle) => idle === 2,
    );
    signals.stop();
    signals.destroy();
    const error = await run;
    expect(connector.classify(error)).toEqual({ kind: 'infrastructure', connecting: false });
    await until(
      () => connector.stats()['pool_size'],
      (size) => size === 0,
    );
    await proxy.set('pass');
    await ping(connector);
    await connector.close();
    await until(
      () => proxy.open,
      (open) => open === 0,
    );
    await proxy.close();
  });

  it('ends a cancel that nobody answers', async () => {
    const { proxy, connector } = await throughProxy();
    const signals = new Signals();
    const run = rejection(read(connector, sleep(30), signals));
    await until(sleeping, (count) => count === 1);
    await proxy.set('blackhole');
    signals.stop();
    await proxy.untilAccepted(2);
    signals.destroy();
    await run;
    expect(connector.stats()).toMatchObject({ pool_size: 0 });
    await connector.close();
    await proxy.close();
    await until(sleeping, (count) => count === 0); // the server watches the connection itself
  });

  it('destroys a socket that is still connecting, and run settles with it', async () => {
    const { proxy, connector } = await throughProxy();
    await proxy.set('blackhole');
    const signals = new Signals();
    const run = rejection(read(connector, sleep(30), signals));
    await proxy.untilAccepted(1);
    signals.stop();
    signals.destroy();
    const error = await run;
    expect(connector.classify(error)).toEqual({ kind: 'infrastructure', connecting: true });
    expect(connector.stats()).toMatchObject({ pool_size: 0, requests_waiting: 0 });
    await connector.close();
    await proxy.close();
  });

  it('destroys only the socket of its own call, also when the pool opens several at once', async () => {
    const { proxy, connector } = await throughProxy({ maxPoolSize: 4 });
    await ping(connector); // one is idle: the next two calls queue in the pool, and only one can have it
    await proxy.set({ mode: 'slowDrip', intervalMs: 2 });
    const calls = [new Signals(), new Signals(), new Signals()];
    const runs = calls.map((signals) => read(connector, statement<{ one: number }>`select 1 as one`, signals));
    const last = rejection(runs[2] ?? Promise.resolve());
    await proxy.untilAccepted(3);
    calls[2]?.destroy();
    expect(connector.classify(await last)).toEqual({ kind: 'infrastructure', connecting: true });
    // The third socket is gone, and the second is still being opened.
    expect(connector.stats()).toMatchObject({ pool_size: 2 });
    await proxy.set('pass');
    expect((await Promise.all(runs.slice(0, 2))).map(({ rows }) => rows)).toEqual([[{ one: 1 }], [{ one: 1 }]]);
    await connector.close();
    await proxy.close();
  });

  it('frees a call that waits for a connection, and leaves those before and behind it in line', async () => {
    const connector = connectorTo(database.dsn, { maxPoolSize: 1 });
    const first = new Signals();
    const running = rejection(read(connector, sleep(30), first));
    await until(sleeping, (count) => count === 1);
    const waiting = new Signals();
    const second = rejection(read(connector, sleep(30), waiting));
    const third = ping(connector);
    waiting.destroy();
    expect(connector.classify(await second)).toEqual({ kind: 'infrastructure', connecting: true });
    first.stop();
    await running;
    expect((await third).rows).toEqual([{ one: 1 }]);
    await connector.close();
  });

  it('ends a look-up that hangs', async () => {
    let asked: () => void = () => undefined;
    const asking = new Promise<void>((resolve) => (asked = resolve));
    const connector = connectorTo('postgresql://u:p@db.invalid/x?sslmode=disable', { lookup: () => asked() });
    const signals = new Signals();
    const run = rejection(read(connector, sleep(1), signals));
    await asking;
    signals.destroy();
    expect(connector.classify(await run)).toEqual({ kind: 'infrastructure', connecting: true });
    expect(connector.stats()).toMatchObject({ pool_size: 0 });
    await connector.close();
  });

  it('also ends a run whose operation never settles, and rejects its late statement', async () => {
    const connector = connectorTo(database.dsn);
    const signals = new Signals();
    let late: Promise<unknown> | undefined;
    const begun = deferred();
    const gate = deferred();
    const run = rejection(
      connector.run(async (lease) => {
        begun.resolve();
        await gate.promise;
        late = rejection(lease.query(sleep(30)));
        return late;
      }, signals),
    );
    await begun.promise;
    signals.destroy();
    await run;
    gate.resolve();
    expect(
      await until(
        () => late,
        (each) => each !== undefined,
      ),
    ).toMatchObject({ message: 'the lease has ended' });
    await connector.close();
  });
});

describe('a connection that is lost under a statement', () => {
  it.each(['halfOpen', 'reset'] as const)('(%s) costs that call, and the next one works', async (fault) => {
    const { proxy, connector } = await throughProxy();
    const signals = new Signals();
    const run = rejection(read(connector, sleep(30), signals));
    await until(sleeping, (count) => count === 1);
    await proxy.set(fault);
    if (fault === 'halfOpen') {
      // Nobody tells us: only the kill ends it.
      signals.stop();
      signals.destroy();
    }
    expect(connector.classify(await run).kind).toBe('infrastructure');
    await proxy.set('pass');
    expect((await ping(connector)).rows).toEqual([{ one: 1 }]);
    await connector.close();
    await proxy.close();
  });

  it('in the middle of the answer is the source’s failure, not a shorter answer', async () => {
    const { proxy, connector } = await throughProxy();
    await ping(connector);
    await proxy.set({ mode: 'resetMidway', bytes: 2_000 });
    const long = statement`select n, repeat('x', 100) as text from generate_series(1, 900) as n`;
    const error = await rejection(read(connector, long));
    expect(connector.classify(error)).toEqual({ kind: 'infrastructure' });
    await proxy.set('pass');
    await ping(connector);
    await connector.close();
    await proxy.close();
  });
});

describe('the process', () => {
  it('hears nothing of all this: no unhandled rejection, no uncaught exception, no warning', async () => {
    const heard: unknown[] = [];
    const listen = (error: unknown) => void heard.push(error);
    for (const event of ['unhandledRejection', 'uncaughtException', 'warning']) process.on(event, listen);
    const { proxy, connector } = await throughProxy({ maxPoolSize: 3 });
    for (const fault of ['reset', 'halfOpen', 'blackhole', 'refuse'] as const) {
      await proxy.set('pass');
      await Promise.all([ping(connector), ping(connector)]);
      const calls = [new Signals(), new Signals(), new Signals()];
      const runs = calls.map((signals) => rejection(read(connector, sleep(30), signals)));
      await until(sleeping, (count) => count === 3);
      await proxy.set(fault);
      for (const signals of calls) signals.stop();
      for (const signals of calls) signals.destroy();
      await Promise.all(runs);
    }
    await connector.close();
    await proxy.close();
    await new Promise(setImmediate);
    for (const event of ['unhandledRejection', 'uncaughtException', 'warning']) process.off(event, listen);
    expect(heard).toEqual([]);
  });
});
