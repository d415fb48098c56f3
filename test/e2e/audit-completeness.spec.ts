import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { compare, Ledger } from '../support/audit-ledger.js';
import { connectV1 } from '../support/mcp-clients.js';
import { type legacy, send } from '../support/mcp-http.js';
import { ServerProcess, type LogLine } from '../support/server-process.js';
import { until } from '../support/until.js';
import { createWorld, type World } from '../support/world.js';

/** Architecture §7: one start and one end for every accepted call, whatever becomes of the call, the process or its stdout. */
const IDENTIFIER = { identificador: 'V16760320' };
const CLI = new URL('../../dist/cli/main.js', import.meta.url).pathname;
const CRASH = new URL('../support/crash-on-signal.mjs', import.meta.url).href;
const MAIN = new URL('../../dist/main.js', import.meta.url).pathname;

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());
afterEach(() => world.stub.setFault(undefined));

const asked = () => world.stub.requests.filter(({ path }) => path.startsWith('/saldos/')).length;
/** Audit records that must be on disk or in the pipe: production refuses what it cannot record. */
const production = {
  MCP_CORP_ENVIRONMENT: 'production',
  MCP_CORP_AUDIT_HMAC_SECRET: 'clave-de-produccion-con-32-bytes-o-mas',
  MCP_CORP_HTTP__ALLOWED_HOSTS: '127.0.0.1',
  MCP_CORP_GOVERNANCE__MODE: 'open',
};

/** Calls of every kind, some of whose clients hang up at a random moment. */
async function everyKind(ledger: Ledger, url: string, calls: number): Promise<void> {
  const one = async (index: number): Promise<void> => {
    const call = index % 2 === 0 ? ledger.call.bind(ledger) : ledger.modern;
    const hangUp = new AbortController();
    switch (index % 7) {
      case 0:
        await call(url, 'consultar_cliente', IDENTIFIER);
        return;
      case 1:
        await call(url, 'consultar_saldo', IDENTIFIER);
        return;
      case 2:
        await call(url, 'resumen_cliente', { identificador: 'V90000001' });
        return;
      case 3:
        await call(url, 'consultar_cliente', { identificador: 5 });
        return;
      case 4:
        await call(url, 'consultar_saldo', { identificador: 'V-16760320-9' });
        return;
      default:
        setTimeout(() => hangUp.abort(), Math.random() * 12);
        await call(url, index % 7 === 5 ? 'consultar_saldo' : 'resumen_cliente', IDENTIFIER, hangUp.signal);
    }
  };
  for (let next = 0; next < calls; next += 30)
    await Promise.all(Array.from({ length: Math.min(30, calls - next) }, (_, index) => one(next + index)));
}

/** Until the server has nothing under way: then every call has its end. */
const settled = (server: ServerProcess) =>
  until(async () => {
    const { connectors } = (await (await fetch(`${server.url}/diagnostics`)).json()) as {
      connectors: Record<string, { in_flight: number }>;
    };
    return Object.values(connectors).every(({ in_flight }) => in_flight === 0);
  });

it('disconnects and errors of every kind: ledger and trail agree call by call', async () => {
  const ledger = new Ledger();
  const server = await ServerProcess.ready(world.env);
  await everyKind(ledger, server.url, 240);
  await settled(server);
  expect(await server.stop()).toBe(0);
  const { disagreements, results } = compare(ledger.entries, server.lines);
  expect(disagreements).toEqual([]);
  expect(ledger.entries.filter(({ seen }) => seen === 'answered').length).toBeGreaterThan(140);
  expect(results).toMatchObject({ success: expect.any(Number), failure: expect.any(Number) });
});

it('a client that hangs up while the source is being asked: one end, cancelled', async () => {
  const ledger = new Ledger();
  const server = await ServerProcess.ready(world.env);
  world.stub.setFault({ kind: 'silence' });
  const before = asked();
  const hangUp = new AbortController();
  const calls = Array.from({ length: 8 }, (_, index) =>
    (index % 2 ? ledger.modern : ledger.call.bind(ledger))(server.url, 'consultar_saldo', IDENTIFIER, hangUp.signal),
  );
  await until(() => asked() - before === 8);
  hangUp.abort();
  await Promise.all(calls);
  await server.until(() => server.events('tool_invocation_completed').length === 8);
  expect(await server.stop()).toBe(0);
  expect(compare(ledger.entries, server.lines)).toEqual({
    disagreements: [],
    openStarts: [],
    results: { cancelled: 8 },
  });
});

it('`notifications/cancelled` of the 2025 era: without sessions an id is everybody’s, so it ends nobody’s call', async () => {
  const ledger = new Ledger();
  const server = await ServerProcess.ready(world.env);
  const before = asked();
  world.stub.setFault({ kind: 'latency', ms: 300 });
  // Two callers who number their requests alike, as every client does, beginning with one.
  const calls = Array.from({ length: 2 }, () =>
    ledger.call(server.url, 'consultar_saldo', IDENTIFIER, undefined, numbered(7)),
  );
  await until(() => asked() - before === 2);
  const notice = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } };
  expect(await send(`${server.url}/mcp`, { headers: OF_2025, body: JSON.stringify(notice) })).toMatchObject({
    status: 202,
    text: '',
  });
  await Promise.all(calls);

  // The official client of that era gives up on the answer; the call itself goes on to its end.
  world.stub.setFault({ kind: 'silence' });
  const traceId = 'c'.repeat(32);
  const client = await connectV1(`${server.url}/mcp`, { traceparent: `00-${traceId}-00f067aa0ba902b7-01` });
  const leave = new AbortController();
  const given = client.callTool({ name: 'consultar_saldo', arguments: IDENTIFIER }, undefined, {
    signal: leave.signal,
  });
  await until(() => asked() - before === 3);
  leave.abort();
  await expect(given).rejects.toThrow();
  ledger.entries.push({ traceId, seen: 'unknown', code: undefined });
  await client.close();

  await server.until(() => server.events('tool_invocation_completed').length === 3);
  expect(await server.stop()).toBe(0);
  expect(compare(ledger.entries, server.lines)).toEqual({
    disagreements: [],
    openStarts: [],
    results: { success: 2, cancelled: 1 },
  });
});

const OF_2025 = { 'content-type': 'application/json', 'mcp-protocol-version': '2025-11-25' };

/** A request of the 2025 era with this id. */
const numbered =
  (id: number): typeof legacy =>
  (url, method, params, sent) =>
    send(url, {
      ...sent,
      headers: { ...OF_2025, ...sent?.headers },
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
    });

it('SIGTERM under load: what is accepted is recorded whole, what is refused not at all', async () => {
  const ledger = new Ledger();
  const server = await ServerProcess.ready({ ...world.env, MCP_CORP_GRACEFUL_SHUTDOWN_TIMEOUT_SECONDS: '0.3' });
  world.stub.setFault({ kind: 'latency', ms: 200 });
  let stopping = false;
  const client = async (): Promise<void> => {
    while (!stopping) await everyKind(ledger, server.url, 7);
  };
  const clients = Promise.all(Array.from({ length: 6 }, client));
  await until(() => asked() > 20);
  server.kill('SIGTERM');
  expect(await server.exited).toBe(0);
  stopping = true;
  await clients;
  const { disagreements, openStarts } = compare(ledger.entries, server.lines);
  expect(disagreements).toEqual([]);
  expect(openStarts).toEqual([]);
});

it('a crash: open calls end as internal_error before the process does', async () => {
  const ledger = new Ledger();
  const server = await ServerProcess.ready(world.env, { command: ['--import', CRASH, MAIN] });
  world.stub.setFault({ kind: 'silence' });
  const before = asked();
  const calls = Array.from({ length: 4 }, () => ledger.call(server.url, 'consultar_saldo', IDENTIFIER));
  await until(() => asked() - before === 4);
  server.kill('SIGUSR2');
  expect(await server.exited).toBe(1);
  await Promise.all(calls);
  expect(compare(ledger.entries, server.lines).disagreements).toEqual([]);
  expect(server.events('tool_invocation_completed')).toMatchObject(
    Array(4).fill({ result: 'failure', reason: 'internal_error' }),
  );
});

describe('a replica that is killed (SIGKILL)', () => {
  it.each([
    ['to stdout', false],
    ['to a file of its own', true],
  ])('%s: `audit reconcile` names exactly the calls without an end', async (_where, toFile) => {
    const folder = mkdtempSync(join(tmpdir(), 'mcp-corp-audit-'));
    const file = join(folder, 'audit.log');
    const ledger = new Ledger();
    const env = { ...world.env, ...(toFile ? { MCP_CORP_AUDIT__FILE: file } : {}) };
    const killed = await ServerProcess.ready(env);
    const survivor = await ServerProcess.ready(env);
    await everyKind(ledger, killed.url, 60);
    await settled(killed);
    world.stub.setFault({ kind: 'silence' });
    const before = asked();
    const cut = Array.from({ length: 6 }, () => ledger.call(killed.url, 'consultar_saldo', IDENTIFIER));
    await until(() => asked() - before === 6);
    const written = () => (toFile ? linesOf(readFileSync(file, 'utf8')) : killed.lines);
    const starts = () => written().filter(({ message }) => message === 'tool_invocation_started').length;
    const ends = () => written().filter(({ message }) => message === 'tool_invocation_completed').length;
    await until(() => starts() - ends() === 6);
    killed.kill('SIGKILL');
    await killed.exited;
    await Promise.all(cut);
    world.stub.setFault(undefined);
    await everyKind(ledger, survivor.url, 60);
    expect(await survivor.stop()).toBe(0);

    const trail = toFile ? readFileSync(file, 'utf8') : killed.stdout + survivor.stdout;
    const { openStarts } = compare(ledger.entries, linesOf(trail));
    expect(openStarts).toHaveLength(6);
    const run = spawnSync(process.execPath, [CLI, 'audit', 'reconcile', '--json', ...(toFile ? [file] : [])], {
      input: toFile ? '' : trail,
      encoding: 'utf8',
    });
    expect(run.status).toBe(1);
    const named = JSON.parse(run.stdout) as { starts_without_end: LogLine[]; ends_without_start: LogLine[] };
    expect(named.starts_without_end.map(({ correlation_id }) => correlation_id).sort()).toEqual([...openStarts].sort());
    expect(named.starts_without_end).toMatchObject(
      Array(6).fill({ tool: 'consultar_saldo', replica: expect.any(String) }),
    );
    expect(named.ends_without_start).toEqual([]);
    rmSync(folder, { recursive: true });
  });
});

const linesOf = (text: string): LogLine[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as LogLine);

describe('a stdout that cannot keep up', () => {
  it('read slowly: every record arrives in the end, once', async () => {
    const ledger = new Ledger();
    const server = await ServerProcess.ready(world.env);
    const { stdout } = server.child;
    stdout?.pause();
    await everyKind(ledger, server.url, 240); // some 250 kB: more than the pipe holds
    const received = server.stdout.length;
    stdout?.resume();
    await settled(server);
    expect(await server.stop()).toBe(0);
    expect(server.stdout.length).toBeGreaterThan(received);
    expect(compare(ledger.entries, server.lines).disagreements).toEqual([]);
  });

  it('not read at all in production: from the bound on calls are refused, and what was accepted arrives whole', async () => {
    const agent = new Agent({ keepAlive: true });
    const ledger = new Ledger(agent);
    const server = await ServerProcess.ready({ ...world.env, ...production });
    const { stdout } = server.child;
    stdout?.pause();
    // 8 MiB of records: half a kilobyte for each, without asking any source.
    const client = async (): Promise<void> => {
      while (ledger.entries.at(-1)?.code !== 'audit_unavailable' && ledger.entries.length < 20_000)
        await ledger.call(server.url, 'consultar_cliente', { identificador: 'no es ninguno' });
    };
    await Promise.all(Array.from({ length: 8 }, client));
    expect(ledger.entries.at(-1)?.code).toBe('audit_unavailable');
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    stdout?.resume();
    await until(async () => (await ledger.call(server.url, 'consultar_saldo', IDENTIFIER)).code === undefined);
    agent.destroy();
    expect(await server.stop()).toBe(0);
    expect(compare(ledger.entries, server.lines).disagreements).toEqual([]);
    expect(server.stderr).toContain('audit_unavailable');
  }, 90_000);

  it('closed by its reader, in production or not: the process lives and says so elsewhere', async () => {
    await inBoth(async (env, codeAfter) => {
      const ledger = new Ledger();
      const server = await ServerProcess.ready(env);
      await ledger.call(server.url, 'consultar_saldo', IDENTIFIER);
      await server.until(() => server.events('tool_invocation_completed').length === 1);
      server.child.stdout?.destroy();
      const after = [];
      // The first one is what finds the pipe closed.
      for (let index = 0; index < 5; index++) after.push(await ledger.call(server.url, 'consultar_saldo', IDENTIFIER));
      expect(new Set(after.slice(2).map(({ code }) => code))).toEqual(new Set([codeAfter]));
      server.kill('SIGTERM');
      expect(await server.exited).toBe(0);
      expect(server.stderr).toContain('audit_unavailable');
      expect(server.stderr).toContain('EPIPE');
    });
  });

  it('on a full disk, in production or not: the process lives and says so elsewhere', async () => {
    await inBoth(async (env, codeAfter) => {
      const full = openSync('/dev/full', 'w');
      const server = await ServerProcess.ready(env, { stdout: full });
      closeSync(full);
      const ledger = new Ledger();
      for (let index = 0; index < 5; index++) await ledger.call(server.url, 'consultar_saldo', IDENTIFIER);
      expect(new Set(ledger.entries.map(({ code }) => code))).toEqual(new Set([codeAfter]));
      expect((await fetch(`${server.url}/health`)).status).toBe(200);
      server.kill('SIGTERM');
      expect(await server.exited).toBe(0);
      expect(server.stderr).toContain('ENOSPC');
    });
  });

  /** Production refuses what it cannot record; elsewhere the call goes on. At the same time: what takes long is waiting. */
  async function inBoth(prove: (env: Record<string, string>, codeAfter: string | undefined) => Promise<void>) {
    await Promise.all([prove({ ...world.env, ...production }, 'audit_unavailable'), prove(world.env, undefined)]);
  }

  it('on a disk that is full for a while: nothing that was accepted is lost, torn or written twice', async () => {
    // A file system of 64 KiB, in a mount namespace of the server's own; what it holds is read through /proc.
    const folder = mkdtempSync(join(tmpdir(), 'mcp-corp-disk-'));
    const script = 'mount -t tmpfs -o size=64k tmpfs "$0" && head -c 40000 /dev/zero > "$0/ballast" && exec "$@"';
    const server = await ServerProcess.ready(
      { ...world.env, ...production, MCP_CORP_AUDIT__FILE: join(folder, 'audit.log') },
      { launcher: ['unshare', '--mount', '/bin/sh', '-c', script, folder] },
    );
    const inside = `/proc/${server.child.pid}/root${folder}`;
    const ledger = new Ledger();
    const ask = () => ledger.call(server.url, 'consultar_saldo', IDENTIFIER);
    await until(async () => (await ask()).code === 'audit_unavailable');
    await Promise.all(Array.from({ length: 20 }, ask));
    rmSync(join(inside, 'ballast'));
    await until(async () => (await ask()).code === undefined);
    const trail = () => readFileSync(join(inside, 'audit.log'), 'utf8');
    const ends = () => linesOf(trail()).filter(({ message }) => message === 'tool_invocation_completed').length;
    const answered = ledger.entries.filter(({ code }) => code === undefined).length;
    await until(() => ends() >= answered);
    expect(compare(ledger.entries, linesOf(trail())).disagreements).toEqual([]);
    expect(await server.stop()).toBe(0);
    rmSync(folder, { recursive: true });
  });
});
