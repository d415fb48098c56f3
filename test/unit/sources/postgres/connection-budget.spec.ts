import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type INestApplicationContext } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import pg from 'pg';
import { type RunningPostgres, runSql, startPostgres } from '../../../../scripts/postgres.mjs';
import { loadSettings } from '../../../../src/config/load-settings.js';
import { ServiceSettings } from '../../../../src/config/service.settings.js';
import { SettingsModule } from '../../../../src/config/settings.module.js';
import { ConnectorRegistry } from '../../../../src/connectors/connector-registry.js';
import { ConnectorsModule } from '../../../../src/connectors/connectors.module.js';
import { JsonLogger } from '../../../../src/logging/json-logger.js';
import { type LineSink } from '../../../../src/logging/line-sink.js';
import { LoggingModule } from '../../../../src/logging/logging.module.js';
import { type BudgetFigures, ConnectionBudget } from '../../../../src/sources/postgres/connection-budget.js';
import { POSTGRES } from '../../../../src/sources/postgres/postgres.module.js';
import { FaultProxy } from '../../../support/fault-proxy.js';
import { until } from '../../../support/until.js';
import { RecordedLog } from '../../connectors/support/recorded-log.js';

/** A small server of its own: 20 connections, of which 3 + 2 are reserved. */
let postgres: RunningPostgres;
let proxy: FaultProxy;
let app: INestApplicationContext;
let written: string[];

beforeAll(async () => {
  const flags = ['-c', 'superuser_reserved_connections=3', '-c', 'reserved_connections=2'];
  postgres = await startPostgres({ maxConnections: 20, flags });
  await runSql(postgres.dsn, "create role lectora login password 'lectora'");
  proxy = await FaultProxy.start({ port: postgres.port });
});
afterAll(async () => {
  await proxy.close();
  await postgres.stop();
});
afterEach(async () => {
  await proxy.set('pass');
  await app.get(ConnectorRegistry).closeAll();
  await app.close();
});

/** The source as the application builds it; the service counts on `replicas`. */
async function start(replicas: number, variables: Record<string, string> = {}): Promise<ConnectorRegistry> {
  written = [];
  const sink: LineSink = {
    unwrittenBytes: 0,
    failure: undefined,
    write: (line) => written.push(line) > 0,
    flush: () => Promise.resolve(true),
  };
  const dsn = postgres.dsnOf('mcp_corp', 'lectora', 'lectora').replace(`:${postgres.port}/`, `:${proxy.port}/`);
  const given = { ENABLED: 'true', DSN: dsn, MAX_POOL_SIZE: '4', MAX_CONCURRENCY: '4', ...variables };
  const env = {
    ...Object.fromEntries(Object.entries(given).map(([name, value]) => [`MCP_CORP_POSTGRES__${name}`, value])),
    MCP_CORP_REPLICAS: String(replicas),
  };
  const logger = new JsonLogger({ sink, level: 'DEBUG', service: 'mcp-corp', version: 'v', environment: 'local' });
  app = await Test.createTestingModule({
    imports: [
      SettingsModule.register(loadSettings(env, [ServiceSettings, POSTGRES.section])),
      LoggingModule.register(logger),
      ConnectorsModule,
      POSTGRES.module,
    ],
  }).compile();
  return app.get(ConnectorRegistry);
}

async function budget(registry: ConnectorRegistry): Promise<BudgetFigures | null> {
  const { postgres: entry } = (await registry.diagnostics()) as unknown as {
    postgres: { budget: BudgetFigures | null };
  };
  return entry.budget;
}

const warnings = () =>
  written
    .map((line) => JSON.parse(line) as { level: string; message: string; detail?: string })
    .filter(({ message }) => message.startsWith('connection_budget'));

const connect = (registry: ConnectorRegistry) => registry.connectAll(new AbortController().signal);

describe('the connection budget', () => {
  it('that fits is in the diagnostics, and nothing is said', async () => {
    const registry = await start(3);
    await connect(registry);
    await until(async () => (await budget(registry)) !== null);
    expect(await budget(registry)).toEqual({
      ...{ replicas: 3, pool_size: 4, needed: 12, max_connections: 20, reserved: 5, used_by_others: 0, available: 15 },
      ...{ fits: true, asked_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) },
    });
    expect(warnings()).toEqual([]);
  });

  it('that does not fit is a warning with the sum, and the source works all the same', async () => {
    const registry = await start(4);
    await connect(registry);
    await until(() => warnings().length > 0);
    const detail = '4 réplicas × 4 conexiones = 16, y quedan 20 − 5 reservadas − 0 de otros = 15';
    expect(warnings()).toMatchObject([
      {
        level: 'WARNING',
        message: 'connection_budget_exceeded',
        source: 'postgres',
        detail,
        needed: 16,
        available: 15,
      },
    ]);
    expect(await registry.diagnostics()).toMatchObject({
      postgres: { healthy: true, circuit_state: 'closed', in_flight: 0, budget: { fits: false, needed: 16 } },
    });
  });

  it("counts what others hold, whoever they are, and not what this service's own replicas hold", async () => {
    const hold = async (dsn: string, application_name: string) => {
      const client = new pg.Client({ connectionString: dsn, application_name });
      client.on('error', () => undefined);
      await client.connect();
      return client;
    };
    const own = postgres.dsnOf('mcp_corp', 'lectora', 'lectora');
    const holders = await Promise.all([
      hold(own, 'mcp-corp'),
      hold(own, 'mcp-corp'),
      hold(own, 'informes'),
      hold(postgres.dsn, 'mcp-corp'),
      hold(postgres.dsnOf('postgres'), 'mcp-corp'),
    ]);
    const registry = await start(3);
    await connect(registry);
    await until(async () => (await budget(registry)) !== null);
    expect(await budget(registry)).toMatchObject({ used_by_others: 3, available: 12, needed: 12, fits: true });
    await Promise.all(holders.map((client) => client.end()));
  });

  it('of a source that was down at start is asked when it comes back', async () => {
    await proxy.set('refuse');
    const registry = await start(4);
    await connect(registry);
    expect(await budget(registry)).toBeNull();
    await proxy.set('pass');
    await until(() => warnings().length > 0);
    expect(warnings()).toMatchObject([{ message: 'connection_budget_exceeded' }]);
  });

  it('that may not be asked stays unknown, and the source works all the same', async () => {
    await runSql(postgres.dsn, 'revoke execute on function pg_stat_get_activity(integer) from public');
    try {
      const registry = await start(4);
      await connect(registry);
      await until(() => warnings().length > 0);
      expect(warnings()).toMatchObject([
        { message: 'connection_budget_unknown', source: 'postgres', reason: 'rejected' },
      ]);
      expect(await budget(registry)).toBeNull();
      expect(await registry.diagnostics()).toMatchObject({ postgres: { healthy: true, circuit_state: 'closed' } });
    } finally {
      await runSql(postgres.dsn, 'grant execute on function pg_stat_get_activity(integer) to public');
    }
  });
});

describe('a question that nobody answers', () => {
  it('keeps nobody waiting, and is not asked a second time meanwhile', () => {
    let asked = 0;
    const executor = {
      run: <T>() => {
        asked += 1;
        return new Promise<T>(() => undefined);
      },
    };
    const log = new RecordedLog();
    const unanswered = new ConnectionBudget({ source: 'postgres', replicas: 1, poolSize: 1, log });
    unanswered.ask(executor);
    unanswered.ask(executor);
    expect([asked, unanswered.figures, log.lines]).toEqual([1, undefined, []]);
  });
});
