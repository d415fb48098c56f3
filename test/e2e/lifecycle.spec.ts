import { spawnSync } from 'node:child_process';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { connectV1, connectV2 } from '../support/mcp-clients.js';
import { freePort } from '../../scripts/free-port.mjs';
import { ServerProcess } from '../support/server-process.js';
import { until } from '../support/until.js';
import { createWorld, type World } from '../support/world.js';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());
afterEach(() => world.stub.setFault(undefined));

const status = (url: string): Promise<number | string> =>
  fetch(url, { headers: { connection: 'close' } }).then(
    (response) => response.status,
    (error: { cause?: { code?: string } }) => error.cause?.code ?? 'failed',
  );

const asked = () => world.stub.requests.filter(({ path }) => path.startsWith('/saldos/')).length;

describe('a stop with a call in flight', () => {
  it.each([
    ['v1', connectV1],
    ['v2', connectV2],
  ] as const)('SIGTERM: the two-second call of the %s client completes, is audited, exit 0', async (_name, connect) => {
    const server = await ServerProcess.ready({ ...world.env, MCP_CORP_DRAIN_SECONDS: '0.5' });
    const client = await connect(`${server.url}/mcp`);
    world.stub.setFault({ kind: 'latency', ms: 2000 });
    const before = asked();
    const call = client.callTool({ name: 'consultar_saldo', arguments: { identificador: 'V16760320' } });
    await until(() => asked() > before);

    server.kill('SIGTERM');
    const seen: (number | string)[] = [];
    await until(async () => {
      seen.push(await status(`${server.url}/ready`));
      return seen.at(-1) === 'ECONNREFUSED';
    });
    // 503 while the port is still open, then the port closes, while the call still runs.
    expect([...new Set(seen.filter((one) => one !== 200 && one !== 'ECONNRESET' && one !== 'UND_ERR_SOCKET'))]).toEqual(
      [503, 'ECONNREFUSED'],
    );
    expect(server.child.exitCode).toBeNull();

    expect((await call).structuredContent).toEqual({ cedula: 'V16760320', saldo: 1500000.5, moneda: 'COP' });
    expect(await server.exited).toBe(0);
    expect(server.events('tool_invocation_completed')).toMatchObject([{ tool: 'consultar_saldo', result: 'success' }]);
    expect(server.stderr).toBe('');
  });

  it('what the grace does not suffice for is cut, and recorded once as cancelled by the shutdown', async () => {
    const server = await ServerProcess.ready({ ...world.env, MCP_CORP_GRACEFUL_SHUTDOWN_TIMEOUT_SECONDS: '0.3' });
    const client = await connectV2(`${server.url}/mcp`);
    world.stub.setFault({ kind: 'silence' });
    const before = asked();
    const call = client
      .callTool({ name: 'consultar_saldo', arguments: { identificador: 'V16760320' } })
      .catch((error: unknown) => error);
    await until(() => asked() > before);

    const start = performance.now();
    server.kill('SIGTERM');
    expect(await server.exited).toBe(0);
    expect(performance.now() - start).toBeLessThan(5000);
    await call;
    expect(server.events('tool_invocation_started')).toHaveLength(1);
    expect(server.events('tool_invocation_completed')).toMatchObject([{ result: 'cancelled', reason: 'shutdown' }]);
  });

  it('a second signal ends the process at once', async () => {
    const server = await ServerProcess.ready({ ...world.env, MCP_CORP_DRAIN_SECONDS: '30' });
    server.kill('SIGTERM');
    await server.until(({ stdout }) => stdout.includes('shutdown_initiated'));
    server.kill('SIGTERM');
    expect(await server.exited).toBe(143);
  });

  it('the Ctrl-C that npm passes on a second time is one key press', async () => {
    const server = await ServerProcess.ready(world.env);
    server.kill('SIGINT');
    server.kill('SIGINT');
    expect(await server.exited).toBe(0);
  });
});

it('a crash: a call in flight ends in the audit as internal_error, exactly once, before the process does', async () => {
  const server = await ServerProcess.ready({
    ...world.env,
    // SIGUSR2 becomes an exception that nobody catches.
    NODE_OPTIONS: `--import ${new URL('../support/crash-on-signal.mjs', import.meta.url).href}`,
  });
  const client = await connectV2(`${server.url}/mcp`);
  world.stub.setFault({ kind: 'silence' });
  const before = asked();
  const call = client
    .callTool({ name: 'consultar_saldo', arguments: { identificador: 'V16760320' } })
    .catch((error: unknown) => error);
  await until(() => asked() > before);

  server.kill('SIGUSR2');
  expect(await server.exited).toBe(1);
  await call;
  expect(server.events('uncaught_exception')).toHaveLength(1);
  expect(server.events('tool_invocation_started')).toHaveLength(1);
  expect(server.events('tool_invocation_completed')).toMatchObject([{ result: 'failure', reason: 'internal_error' }]);
});

describe('the start', () => {
  it('binds the port before the sources are connected: /health 200 and /ready 503 meanwhile, and a signal still ends it', async () => {
    // A database that accepts connections and never says anything.
    const mute = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const { port } = mute.address() as { port: number };
    const server = await ServerProcess.spawn({
      MCP_CORP_POSTGRES__ENABLED: 'true',
      MCP_CORP_POSTGRES__DSN: `postgresql://nadie@127.0.0.1:${port}/nada?sslmode=disable`,
      MCP_CORP_POSTGRES__POOL_OPEN_TIMEOUT_SECONDS: '9',
    });
    await until(async () => (await status(`${server.url}/health`)) === 200);
    expect(await status(`${server.url}/ready`)).toBe(503);

    server.kill('SIGTERM');
    expect(await server.exited).toBe(0);
    expect(server.events('startup_complete')).toEqual([]);
    mute.close();
  });

  it('a wrong configuration names every variable, no value, and ends with 2', async () => {
    const server = await ServerProcess.spawn({
      MCP_CORP_PORT: '99999',
      MCP_CORP_POSTGRES__ENABLED: 'true',
      MCP_CORP_POSTGRES__MAX_CONCURRENCY: '-3',
      MCP_CORP_POSTGRES__MAX_CONCURENCY: 'valor-secreto',
      MCP_CORP_SALDO_API__ENABLED: 'quizas-valor',
    });
    expect(await server.exited).toBe(2);
    const named = server.events('configuration_error').map(({ variable }) => variable);
    expect(named).toEqual(
      expect.arrayContaining([
        'MCP_CORP_PORT',
        'MCP_CORP_POSTGRES__DSN',
        'MCP_CORP_POSTGRES__MAX_CONCURRENCY',
        'MCP_CORP_POSTGRES__MAX_CONCURENCY',
        'MCP_CORP_SALDO_API__ENABLED',
      ]),
    );
    expect(server.stdout + server.stderr).not.toMatch(/valor|99999/);
  });

  it('a port that is taken ends it with 3 and a remedy, and nothing keeps listening', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    const server = await ServerProcess.spawn(world.env, { port });
    expect(await server.exited).toBe(3);
    expect(server.events('server_start_failed')).toMatchObject([{ detail: expect.stringContaining('MCP_CORP_PORT') }]);
    taken.close();
  });

  it('as PID 1 of a container it obeys SIGTERM', async () => {
    // The kernel gives PID 1 no default action for signals: only a handler of its own can end it.
    const port = await freePort();
    const script = `
      "$NODE" dist/main.js & server=$!
      i=0; until "$NODE" -e 'fetch("http://127.0.0.1:${port}/ready").then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))'; do i=$((i+1)); [ $i -lt 100 ] || exit 9; done
      kill -TERM $(cat /proc/$server/task/$server/children); wait $server`;
    const run = spawnSync(
      '/bin/sh',
      ['-c', script.replace('"$NODE" dist/main.js', 'unshare --pid --fork --kill-child "$NODE" dist/main.js')],
      {
        cwd: new URL('../..', import.meta.url).pathname,
        env: {
          PATH: process.env['PATH'],
          NODE: process.execPath,
          MCP_CORP_HOST: '127.0.0.1',
          MCP_CORP_PORT: String(port),
          MCP_CORP_DRAIN_SECONDS: '0',
        },
        encoding: 'utf8',
        timeout: 25_000,
      },
    );
    expect([run.status, run.stderr]).toEqual([0, '']);
    expect(run.stdout).toContain('shutdown_complete');
  });
});

describe('probes', () => {
  let server: ServerProcess;
  beforeEach(async () => {
    server = await ServerProcess.ready({
      ...world.env,
      MCP_CORP_POSTGRES__MAX_CONCURRENCY: '3',
      MCP_CORP_POSTGRES__MAX_POOL_SIZE: '3',
      MCP_CORP_SALDO_API__MAX_CONCURRENCY: '3',
      MCP_CORP_SALDO_API__OPERATION_TIMEOUT_SECONDS: '60',
      MCP_CORP_SALDO_API__ACQUIRE_TIMEOUT_SECONDS: '60',
    });
  });
  afterEach(() => server.stop());

  it('1,000 probes of /ready are 200 in time while the source hangs and every slot is taken', async () => {
    world.stub.setFault({ kind: 'silence' });
    const before = asked();
    const client = await connectV2(`${server.url}/mcp`);
    const leave = new AbortController();
    const calls = Array.from({ length: 12 }, () =>
      client
        .callTool({ name: 'consultar_saldo', arguments: { identificador: 'V16760320' } }, { signal: leave.signal })
        .catch(() => undefined),
    );
    await until(() => asked() === before + 3);

    const times: number[] = [];
    for (let probe = 0; probe < 1000; probe++) {
      const start = performance.now();
      const response = await fetch(`${server.url}/ready`);
      await response.text();
      times.push(performance.now() - start);
      expect(response.status).toBe(200);
    }
    times.sort((a, b) => a - b);
    // Inside a test run the machine does other things too; alone it is 50 ms (issue 2).
    expect(times[989]).toBeLessThan(250);
    leave.abort();
    await Promise.all(calls);
    await client.close();
  });
});
