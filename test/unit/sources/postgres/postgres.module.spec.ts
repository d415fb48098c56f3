import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type INestApplicationContext } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { loadSettings } from '../../../../src/config/load-settings.js';
import { SettingsModule } from '../../../../src/config/settings.module.js';
import { ConnectorRegistry } from '../../../../src/connectors/connector-registry.js';
import { ConnectorsModule } from '../../../../src/connectors/connectors.module.js';
import { JsonLogger } from '../../../../src/logging/json-logger.js';
import { type LineSink } from '../../../../src/logging/line-sink.js';
import { LoggingModule } from '../../../../src/logging/logging.module.js';
import { ClientesQueries } from '../../../../src/sources/postgres/clientes.queries.js';
import { POSTGRES } from '../../../../src/sources/postgres/postgres.module.js';
import { createDatabase, dsnOf, type TestDatabase, testServer } from '../../../support/database.js';
import { FaultProxy } from '../../../support/fault-proxy.js';
import { until } from '../../../support/until.js';

/** The whole source as the application builds it: variables, Nest module, executor, connector, a real database. */
let database: TestDatabase;
let proxy: FaultProxy;
let app: INestApplicationContext;
let written: string[];

beforeEach(async () => {
  database = await createDatabase();
  proxy = await FaultProxy.start({ port: testServer().port });
  written = [];
});

afterEach(async () => {
  await app.get(ConnectorRegistry).closeAll();
  await app.close();
  await proxy.close();
  const { user, password } = testServer();
  // Whatever went wrong: no identifier, no name, no address, no credential.
  for (const secret of [
    'V16760320',
    '16760320',
    'Restrepo',
    user + ':',
    password,
    database.name,
    '127.0.0.1',
    `${proxy.port}`,
  ]) {
    expect(written.join('\n')).not.toContain(secret);
  }
  await database.drop();
});

async function start(
  variables: Record<string, string> = {},
): Promise<{ clientes: ClientesQueries; registry: ConnectorRegistry }> {
  const sink: LineSink = {
    unwrittenBytes: 0,
    failure: undefined,
    write: (line) => written.push(line) > 0,
    flush: () => Promise.resolve(true),
  };
  const given = { ENABLED: 'true', DSN: dsnOf(database.name, { port: proxy.port }), ...variables };
  const env = Object.fromEntries(Object.entries(given).map(([name, value]) => [`MCP_CORP_POSTGRES__${name}`, value]));
  const logger = new JsonLogger({ sink, level: 'DEBUG', service: 'mcp-corp', version: 'v', environment: 'local' });
  const module = await Test.createTestingModule({
    imports: [
      SettingsModule.register(loadSettings(env, [POSTGRES.section])),
      LoggingModule.register(logger),
      ConnectorsModule,
      POSTGRES.module,
    ],
  }).compile();
  app = module;
  return { clientes: module.get(ClientesQueries), registry: module.get(ConnectorRegistry) };
}

const ask = (clientes: ClientesQueries) => clientes.porCedula('V16760320', { signal: new AbortController().signal });

describe('the source postgres', () => {
  it('connects, answers, and shows its pool in the diagnostics', async () => {
    const { clientes, registry } = await start({ MIN_POOL_SIZE: '2' });
    await registry.connectAll(new AbortController().signal);
    expect(await ask(clientes)).toMatchObject({ nombre: 'Ana María Restrepo' });
    expect(await registry.diagnostics()).toMatchObject({
      postgres: {
        source: 'postgres',
        circuit_state: 'closed',
        healthy: true,
        pool: { pool_min: 2, pool_max: 10, pool_size: 2 },
      },
    });
    // The server is that of all suites, the database is this one's.
    expect(
      await database.query(
        "select count(*)::int as n from pg_stat_activity where datname = current_database() and application_name = 'mcp-corp'",
      ),
    ).toEqual([{ n: 2 }]);
  });

  it('that is down at start fails cleanly, and is used again without any call when it comes back', async () => {
    await proxy.set('refuse');
    const { clientes, registry } = await start();
    await registry.connectAll(new AbortController().signal);
    await expect(ask(clientes)).rejects.toMatchObject({ code: 'circuit_open' });
    await proxy.set('pass');
    await until(async () => (await registry.diagnostics())['postgres']?.circuit_state === 'closed');
    expect(await ask(clientes)).toMatchObject({ cedula: 'V16760320' });
  });

  it('with a wrong password is a source that is down, and the log says 28P01', async () => {
    const { clientes, registry } = await start({
      DSN: dsnOf(database.name, { port: proxy.port, password: 'equivocada' }),
    });
    await registry.connectAll(new AbortController().signal);
    await expect(ask(clientes)).rejects.toMatchObject({ code: 'circuit_open' });
    expect(written.join('\n')).toContain('28P01');
    expect(written.join('\n')).not.toContain('equivocada');
  });

  it('that is a black hole costs its callers no more than their timeout, and its slots come back', async () => {
    const { clientes, registry } = await start({ OPERATION_TIMEOUT_SECONDS: '1', CANCEL_GRACE_SECONDS: '0.2' });
    await registry.connectAll(new AbortController().signal);
    await proxy.set('blackhole');
    const begun = performance.now();
    await expect(Promise.all([ask(clientes), ask(clientes)])).rejects.toMatchObject({ code: 'timeout' });
    expect(performance.now() - begun).toBeLessThan(3_500);
    await until(async () => (await registry.diagnostics())['postgres']?.in_flight === 0);
    await proxy.set('pass');
    expect(await ask(clientes)).toMatchObject({ cedula: 'V16760320' });
  });
});
