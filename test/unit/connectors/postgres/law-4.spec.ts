import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { OperationTimeoutError } from '../../../../src/resilience/errors.js';
import { ResilientExecutor } from '../../../../src/resilience/executor.js';
import { createDatabase, type TestDatabase } from '../../../support/database.js';
import { RecordedLog } from '../support/recorded-log.js';
import { connectorTo, statement, until } from './rig.js';

/** What the server itself shows, sampled as fast as it answers. */
class Watch {
  readonly most = { statements: 0, backends: 0 };
  last = { statements: 0, backends: 0 };
  samples = 0;
  #stopped = false;
  readonly #client: pg.Client;
  #watching: Promise<void> | undefined;

  constructor(dsn: string) {
    this.#client = new pg.Client({ connectionString: dsn });
  }

  async start(): Promise<void> {
    await this.#client.connect();
    this.#watching = this.#watch();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#watching;
    await this.#client.end();
  }

  async #watch(): Promise<void> {
    const text = `select count(*) filter (where state = 'active' and query like '%pg_sleep%')::int as statements,
      count(*)::int as backends from pg_stat_activity
      where backend_type = 'client backend' and datname = current_database() and pid <> pg_backend_pid()`;
    while (!this.#stopped) {
      const [row] = (await this.#client.query<{ statements: number; backends: number }>(text)).rows;
      if (row === undefined) continue;
      this.last = row;
      this.samples += 1;
      this.most.statements = Math.max(this.most.statements, row.statements);
      this.most.backends = Math.max(this.most.backends, row.backends);
    }
  }
}

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});

afterAll(() => database.drop());

describe('law 4 at the real server', () => {
  it('2,000 operations that time out never have more statements than slots, nor more backends than the pool allows', async () => {
    const SLOTS = 8;
    const POOL = 10;
    const log = new RecordedLog();
    const connector = connectorTo(database.dsn, { maxPoolSize: POOL, operationTimeoutMs: 50 });
    const executor = new ResilientExecutor({
      connector,
      log,
      settings: {
        maxConcurrency: SLOTS,
        maxQueue: 2_000,
        acquireTimeoutMs: 120_000,
        operationTimeoutMs: 50,
        callDeadlineMs: 240_000,
        cancelGraceMs: 2_000,
        failureThreshold: 1_000_000, // the breaker is not what is tested
        resetTimeoutMs: 1_000,
        successThreshold: 1,
        rateLimitPerSecond: undefined,
        rateLimitBurst: 1,
      },
    });
    const { signal } = new AbortController();
    const slow = statement`select pg_sleep(5)`;
    const watch = new Watch(database.dsn);
    await watch.start();
    const cpu = process.cpuUsage();
    const begun = performance.now();
    const calls = Array.from({ length: 2_000 }, () => executor.run((lease) => lease.query(slow), { signal }));
    const outcomes = await Promise.allSettled(calls);
    const answered = performance.now();
    await until(
      () => watch.last,
      ({ statements }) => statements === 0,
      1_000,
    );
    const gone = performance.now();
    const used = process.cpuUsage(cpu);

    const timeouts = outcomes.filter(
      (each) => each.status === 'rejected' && each.reason instanceof OperationTimeoutError,
    );
    expect(timeouts).toHaveLength(2_000);
    expect(watch.most.statements).toBeLessThanOrEqual(SLOTS);
    expect(watch.most.backends).toBeLessThanOrEqual(POOL);
    expect(watch.most.statements).toBeGreaterThan(0); // the watch does see them
    expect(gone - answered).toBeLessThan(1_000);
    await until(
      () => executor.snapshot(),
      ({ in_flight, settling }) => in_flight === 0 && settling === 0,
    );
    const { pool_size, pool_available, connections_num = 0, returns_bad = 0 } = connector.stats();
    expect([pool_size, pool_available]).toEqual([connections_num - returns_bad, connections_num - returns_bad]);
    process.stderr.write(
      `law 4: 2000 timeouts in ${((answered - begun) / 1000).toFixed(1)} s; most statements ${watch.most.statements}/${SLOTS}, ` +
        `most backends ${watch.most.backends}/${POOL}, ${watch.samples} samples; gone ${(gone - answered).toFixed(0)} ms after the ` +
        `last answer; ${connections_num} connects, ${returns_bad} discarded; ` +
        `${((used.user + used.system) / 2000).toFixed(0)} µs CPU a call\n`,
    );
    await executor.close();
    await connector.close();
    await watch.stop();
  }, 120_000);
});
