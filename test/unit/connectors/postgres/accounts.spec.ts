import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { COOLDOWN_MS } from '../../../../src/connectors/account-cooldown.js';
import { type PostgresConnector } from '../../../../src/connectors/postgres/postgres-connector.js';
import { type Account } from '../../../../src/resilience/connector.js';
import { RejectedError } from '../../../../src/resilience/errors.js';
import { ResilientExecutor } from '../../../../src/resilience/executor.js';
import { createDatabase, dsnOf, type TestDatabase } from '../../../support/database.js';
import { RecordedLog } from '../support/recorded-log.js';
import { activity, connectorTo, Signals, statement, until } from './rig.js';

let database: TestDatabase;
const roles = ['lector_a', 'lector_b', 'lector-c'].map((name) => `${name}_${process.pid}`);
const [A, B, C] = roles as [string, string, string];
const PASSWORD = 'clave:con@signos';

beforeAll(async () => {
  database = await createDatabase();
  for (const role of roles) await database.query(`create role "${role}" login password '${PASSWORD}'`);
});
afterAll(async () => {
  await database.drop();
  // Nothing depends on them once their database is gone.
  const { queryOnce } = await import('../../../support/database.js');
  for (const role of roles) await queryOnce(dsnOf('postgres'), `drop role "${role}"`);
});

const closing: PostgresConnector[] = [];
afterEach(async () => {
  for (const connector of closing.splice(0)) await connector.close();
});
function connect(options: Parameters<typeof connectorTo>[1] = {}): PostgresConnector {
  const connector = connectorTo(database.dsn, options);
  closing.push(connector);
  return connector;
}

const account = (key: string, password = PASSWORD, epoch = password): Account => ({
  key,
  secret: { epoch, secret: password },
});
const byDsn = (key: string, user: string): Account => account(key, dsnOf(database.name, { user, password: PASSWORD }));

const whoAmI = (connector: PostgresConnector, who?: Account, signals = new Signals()): Promise<string> =>
  connector.run(
    async (lease) => (await lease.query(statement<{ role: string }>`select current_user::text as role`)).rows[0]!.role,
    { signal: signals.signal, kill: signals.kill, account: who },
  );
const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => Promise.reject(new Error('it did not fail')),
    (error: unknown) => error,
  );
const sessions = async (): Promise<number> => (await activity(dsnOf('postgres'), database.name)).length;

describe('an account at a database', () => {
  it('logs in as itself: by its own DSN, of which only the login counts, or as the role of its name', async () => {
    const connector = connect();
    expect(await whoAmI(connector, byDsn('cuenta', A))).toBe(A);
    const elsewhere = account('otra', `postgresql://${B}:${encodeURIComponent(PASSWORD)}@nunca.example:1/nada`);
    expect(await whoAmI(connector, elsewhere)).toBe(B);
    expect(await whoAmI(connector, account(C))).toBe(C);
    expect(roles).not.toContain(await whoAmI(connector));
  });

  it('never shares a connection with another account, and keeps its own', async () => {
    const connector = connect();
    for (let round = 0; round < 3; round++) {
      expect(await whoAmI(connector, byDsn('a', A))).toBe(A);
      expect(await whoAmI(connector, byDsn('b', B))).toBe(B);
    }
    expect(connector.stats()).toMatchObject({ pool_size: 2, pool_available: 2, pool_max: 4, connections_num: 2 });
  });

  it('gives its place to another when all places are taken and it idles: together never more than the source may', async () => {
    const connector = connect({ maxPoolSize: 2 });
    const seen: number[] = [];
    for (const who of [A, B, C, A, B]) {
      expect(await whoAmI(connector, byDsn(who, who))).toBe(who);
      seen.push(connector.stats()['pool_size'] ?? 0);
    }
    expect(Math.max(...seen)).toBe(2);
    await until(sessions, (count) => count <= 2);
    expect(connector.stats()['connections_lost']).toBeUndefined();
  });

  it('holds that law while many accounts call at once, as the server itself sees it', async () => {
    const connector = connect({ maxPoolSize: 3, clock: undefined });
    let most = 0;
    const watching = { on: true };
    const watch = (async () => {
      while (watching.on) most = Math.max(most, await sessions());
    })();
    const executor = new ResilientExecutor({
      connector,
      log: new RecordedLog(),
      settings: {
        ...{ maxConcurrency: 3, maxQueue: 1_000, acquireTimeoutMs: 25_000, operationTimeoutMs: 10_000 },
        ...{ callDeadlineMs: 30_000, cancelGraceMs: 2_000, failureThreshold: 5, resetTimeoutMs: 1_000 },
        ...{ successThreshold: 1, rateLimitPerSecond: undefined, rateLimitBurst: 1 },
      },
    });
    const { signal } = new AbortController();
    const who = [A, B, C, undefined];
    const answers = await Promise.all(
      Array.from({ length: 120 }, (_, n) => {
        const role = who[n % who.length];
        return executor.run(
          async (lease) => {
            const { rows } = await lease.query(
              statement<{ role: string }>`select current_user::text as role, pg_sleep(0.005)`,
            );
            return rows[0]!.role === role || role === undefined;
          },
          { signal, ...(role !== undefined && { account: byDsn(role, role) }) },
        );
      }),
    );
    watching.on = false;
    await watch;
    expect(answers.every(Boolean)).toBe(true);
    // A session that we have closed may be seen for a moment longer.
    expect(most).toBeLessThanOrEqual(3 + 1);
    expect(connector.stats()['pool_size']).toBeLessThanOrEqual(3);
    await executor.close();
  });

  it('has a new pool with a new secret: what is lent comes back and is closed, what idles is closed at once', async () => {
    const connector = connect();
    await whoAmI(connector, account(C, PASSWORD, 'epoch 1'));
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const { signal, kill } = new Signals();
    let begun = (): void => undefined;
    const running = new Promise<void>((resolve) => (begun = resolve));
    const old = connector.run(
      async () => {
        begun();
        await held;
      },
      { signal, kill, account: account(C, PASSWORD, 'epoch 1') },
    );
    await running;
    expect(await whoAmI(connector, account(C, PASSWORD, 'epoch 2'))).toBe(C);
    expect(connector.stats()['pool_size']).toBe(2);
    release();
    await old;
    await until(
      async () => connector.stats()['pool_size'],
      (size) => size === 1,
    );
    await until(sessions, (count) => count === 1);
  });

  it('is refused alone when its password is wrong: not the breaker, and nobody else', async () => {
    const log = new RecordedLog();
    const connector = connect({ log });
    const error = await rejection(whoAmI(connector, account(A, 'equivocada-sentinela')));
    expect(connector.classify(error)).toEqual({ kind: 'rejected' });
    expect(await whoAmI(connector, byDsn('b', B))).toBe(B);
    expect(await whoAmI(connector)).toBeDefined();
    expect(await connector.health(new AbortController().signal)).toBe(true);
    expect(JSON.stringify(log.lines)).not.toContain('sentinela');
    expect(log.named('connector_account_refused')).toHaveLength(1);
  });

  it('is not tried again until it has cooled down or its secret is another one', async () => {
    const time = { now: 0 };
    const clock = { now: () => time.now, after: () => () => undefined };
    const connector = connect({ clock });
    const wrong = account(A, 'equivocada', 'epoch 1');
    await rejection(whoAmI(connector, wrong));
    const attempts = connector.stats()['connections_num'];
    expect(await rejection(whoAmI(connector, wrong))).toBeInstanceOf(RejectedError);
    expect(connector.stats()['connections_num']).toBe(attempts);
    time.now += COOLDOWN_MS;
    expect(await rejection(whoAmI(connector, wrong))).not.toBeInstanceOf(RejectedError);
    expect(await whoAmI(connector, account(A, PASSWORD, 'epoch 2'))).toBe(A);
  });

  it('cannot be a broken DSN, and what is broken is not said', async () => {
    const connector = connect();
    const error = await rejection(whoAmI(connector, account('x', 'postgresql://sentinela:p#w@host/db')));
    expect(connector.classify(error)).toEqual({ kind: 'rejected' });
    expect(String((error as Error).stack)).not.toContain('sentinela');
  });

  it("without a credential of the agreed form is a programming error, never the source's own login", async () => {
    const connector = connect();
    const error = await rejection(whoAmI(connector, { key: 'a', secret: { user: 'a' } }));
    expect(connector.classify(error)).toEqual({ kind: 'bug' });
  });
});
