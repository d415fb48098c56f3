import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSaldoStub } from '../../deploy/dev/saldo-api-stub.mjs';
import { startPostgres, type RunningPostgres } from '../../scripts/postgres.mjs';
import { FaultProxy } from '../support/fault-proxy.js';
import { connectV2, type McpClient } from '../support/mcp-clients.js';
import { freePort } from '../../scripts/free-port.mjs';
import { ServerProcess } from '../support/server-process.js';
import { until } from '../support/until.js';
import { AUDIT_KEY } from '../support/world.js';

const CLIENTE_DOWN =
  'La base de datos de clientes no está disponible en este momento. Intenta de nuevo en unos segundos.';
const SALDO_DOWN = 'El servicio de saldos no está disponible en este momento. Intenta de nuevo en unos segundos.';

/** A PostgreSQL of its own, because these tests stop and start it. */
let postgres: RunningPostgres;
let proxy: FaultProxy;
beforeAll(async () => {
  postgres = await startPostgres({ seed: new URL('../../deploy/dev/postgres-seed.sql', import.meta.url) });
  proxy = await FaultProxy.start({ port: postgres.port });
});
afterAll(async () => {
  await proxy.close();
  await postgres.stop();
});

interface Diagnostics {
  connectors: Record<string, { circuit_state: string; healthy: boolean; in_flight: number; settling: number }>;
}

async function circuit(server: ServerProcess, source: string): Promise<Diagnostics['connectors'][string] | undefined> {
  const { connectors } = (await (await fetch(`${server.url}/diagnostics`)).json()) as Diagnostics;
  return connectors[source];
}

const textOf = async (client: McpClient, name: string, identificador = 'V16760320') => {
  const { content, isError } = await client.callTool({ name, arguments: { identificador } });
  return { text: content[0]?.text ?? '', isError: isError ?? false };
};

const fast = (source: string) => ({
  [`MCP_CORP_${source}__CIRCUIT_RESET_TIMEOUT_SECONDS`]: '1',
  [`MCP_CORP_${source}__CIRCUIT_FAILURE_THRESHOLD`]: '2',
  [`MCP_CORP_${source}__OPERATION_TIMEOUT_SECONDS`]: '1',
  [`MCP_CORP_${source}__CANCEL_GRACE_SECONDS`]: '0.3',
});

const database = () => ({
  MCP_CORP_POSTGRES__ENABLED: 'true',
  MCP_CORP_POSTGRES__DSN: postgres.dsn.replace(`:${postgres.port}/`, `:${proxy.port}/`),
  MCP_CORP_AUDIT_HMAC_SECRET: AUDIT_KEY,
  ...fast('POSTGRES'),
});

describe('a source that is down at start', () => {
  it('HTTP: the process is ready, its tools are listed and fail cleanly, and it is used again without any user call', async () => {
    const port = await freePort();
    await using server = await ServerProcess.ready({
      ...database(),
      MCP_CORP_SALDO_API__ENABLED: 'true',
      MCP_CORP_SALDO_API__BASE_URL: `http://127.0.0.1:${port}`,
      // Longer than the test: what was down at start does not wait for it.
      MCP_CORP_SALDO_API__CIRCUIT_RESET_TIMEOUT_SECONDS: '600',
    });
    const client = await connectV2(`${server.url}/mcp`);
    expect((await client.listTools()).tools).toHaveLength(3);
    expect(await textOf(client, 'consultar_saldo')).toEqual({ text: SALDO_DOWN, isError: true });
    expect((await textOf(client, 'consultar_cliente')).isError).toBe(false);
    expect(server.events('connector_startup_failed')).toMatchObject([
      { source: 'saldo_api', detail: 'arranca en modo degradado; el circuito queda abierto' },
    ]);

    const stub = await startSaldoStub({ port });
    await until(async () => (await circuit(server, 'saldo_api'))?.circuit_state === 'closed');
    expect((await textOf(client, 'consultar_saldo')).isError).toBe(false);
    await client.close();
    await stub.close();
  });

  it('PostgreSQL: the same', async () => {
    await proxy.set('refuse');
    await using server = await ServerProcess.ready({
      ...database(),
      MCP_CORP_POSTGRES__CIRCUIT_RESET_TIMEOUT_SECONDS: '600',
    });
    const client = await connectV2(`${server.url}/mcp`);
    expect(await textOf(client, 'consultar_cliente')).toEqual({ text: CLIENTE_DOWN, isError: true });

    await proxy.set('pass');
    await until(async () => (await circuit(server, 'postgres'))?.circuit_state === 'closed');
    expect((await textOf(client, 'consultar_cliente')).isError).toBe(false);
    await client.close();
  });

  it('a wrong password is a source that is down, and says nothing of the password', async () => {
    await using server = await ServerProcess.ready({
      ...database(),
      MCP_CORP_POSTGRES__DSN: postgres.dsn.replace(encodeURIComponent(postgres.password), 'clave-equivocada'),
    });
    const client = await connectV2(`${server.url}/mcp`);
    expect(await textOf(client, 'consultar_cliente')).toEqual({ text: CLIENTE_DOWN, isError: true });
    await client.close();
    await server.stop();
    expect(server.stdout + server.stderr).not.toContain('clave-equivocada');
  });
});

describe('a source that fails later', () => {
  let server: ServerProcess;
  let client: McpClient;
  beforeAll(async () => {
    server = await ServerProcess.ready(database());
    client = await connectV2(`${server.url}/mcp`);
  });
  afterAll(async () => {
    await client.close();
    await server.stop();
  });

  const recovered = async () => {
    // The reset time is 1 s; the promise is reset time + 2 s, and the machine of a test run is busy.
    await until(async () => (await circuit(server, 'postgres'))?.circuit_state !== 'open', 5000);
    // In half-open one probe at a time: a call beside the health check that is asking just now is refused, the next is not.
    await until(async () => !(await textOf(client, 'consultar_cliente')).isError, 5000);
    await until(async () => (await circuit(server, 'postgres'))?.in_flight === 0);
  };

  it('PostgreSQL restarted while idle: the next call works', async () => {
    expect((await textOf(client, 'consultar_cliente')).isError).toBe(false);
    await postgres.halt();
    await postgres.resume();
    expect((await textOf(client, 'consultar_cliente')).isError).toBe(false);
  });

  it('PostgreSQL stopped until the circuit opens, and back: used again without any user call', async () => {
    await postgres.halt();
    for (let call = 0; call < 3; call++)
      expect(await textOf(client, 'consultar_cliente')).toEqual({ text: CLIENTE_DOWN, isError: true });
    expect((await circuit(server, 'postgres'))?.circuit_state).toBe('open');
    await postgres.resume();
    await recovered();
  });

  it('a network that swallows everything: answered inside the deadline, and recovered when it is back', async () => {
    await proxy.set('blackhole');
    for (let call = 0; call < 3; call++) {
      const start = performance.now();
      expect(await textOf(client, 'consultar_cliente')).toEqual({ text: CLIENTE_DOWN, isError: true });
      expect(performance.now() - start).toBeLessThan(4000);
    }
    await proxy.set('pass');
    await recovered();
  });

  it('the server side gone without a word (half-open): the same', async () => {
    await proxy.set('halfOpen');
    expect(await textOf(client, 'consultar_cliente')).toEqual({ text: CLIENTE_DOWN, isError: true });
    await proxy.set('pass');
    await recovered();
  });

  it('a missing table is a refusal of that call: nothing opens, and the tool says "not available"', async () => {
    const { runSql } = await import('../../scripts/postgres.mjs');
    await runSql(postgres.dsn, 'alter table clientes rename to clientes_de_antes');
    for (let call = 0; call < 4; call++)
      expect(await textOf(client, 'consultar_cliente')).toEqual({ text: CLIENTE_DOWN, isError: true });
    expect((await circuit(server, 'postgres'))?.circuit_state).toBe('closed');
    await runSql(postgres.dsn, 'alter table clientes_de_antes rename to clientes');
    expect((await textOf(client, 'consultar_cliente')).isError).toBe(false);
  });

  it('survived all of it, in JSON lines only', async () => {
    expect(await server.stop()).toBe(0);
    expect(server.lines.length).toBeGreaterThan(0);
    expect(server.stderr).toBe('');
  });
});
