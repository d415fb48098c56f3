import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Collector } from '../support/collector.js';
import { Exposition } from '../support/exposition.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { testServer } from '../support/database.js';
import { legacy, modern } from '../support/mcp-http.js';
import { namedMetrics } from '../support/observability-assets.js';
import { NO_PROMTOOL, promtool } from '../support/promtool.js';
import { freePort } from '../../scripts/free-port.mjs';
import { ServerProcess } from '../support/server-process.js';
import { until } from '../support/until.js';
import { createWorld, type World } from '../support/world.js';

const TOKEN = 'clave-de-metricas-de-prueba';

let world: World;
let proxy: FaultProxy;
let collector: Collector;
let port: number;
let server: ServerProcess;
const folder = mkdtempSync(join(tmpdir(), 'metrics-'));
const audit = join(folder, 'audit');

beforeAll(async () => {
  world = await createWorld();
  collector = await Collector.start();
  proxy = await FaultProxy.start({ port: testServer().port });
  port = await freePort();
  server = await ServerProcess.ready({
    ...world.env,
    MCP_CORP_METRICS__PORT: String(port),
    MCP_CORP_TRACING__ENDPOINT: collector.url,
    MCP_CORP_REPLICAS: '1000',
    MCP_CORP_POSTGRES__DSN: world.database.dsn.replace(`:${testServer().port}/`, `:${proxy.port}/`),
    MCP_CORP_POSTGRES__MAX_CONCURRENCY: '2',
    MCP_CORP_POSTGRES__MAX_POOL_SIZE: '2',
    MCP_CORP_POSTGRES__MAX_QUEUE: '1',
    MCP_CORP_POSTGRES__CIRCUIT_RESET_TIMEOUT_SECONDS: '0.5',
    MCP_CORP_POSTGRES__CIRCUIT_FAILURE_THRESHOLD: '2',
    MCP_CORP_POSTGRES__OPERATION_TIMEOUT_SECONDS: '0.5',
    MCP_CORP_POSTGRES__CANCEL_GRACE_SECONDS: '0.5',
    MCP_CORP_AUDIT__FILE: audit,
  });
});
afterAll(async () => {
  await server.stop();
  await proxy.close();
  await collector.close();
  await world[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const scrape = () => Exposition.of(`http://127.0.0.1:${port}/metrics`);
const call = (name: string, identificador = 'V16760320', signal?: AbortSignal) =>
  modern(`${server.url}/mcp`, 'tools/call', { name, arguments: { identificador } }, { signal });
const postgres = { source: 'postgres' };

describe('the metrics of a process', () => {
  const scrapes: Exposition[] = [];
  const keep = async () => {
    const now = await scrape();
    scrapes.push(now);
    return now;
  };

  it('count calls by name, result and code; nothing of a caller is in a label', async () => {
    await until(async () => (await scrape()).of('mcp_corp_source_connection_budget_needed').length > 0);
    await keep();
    const hostile = ['V16760320', 'ana@example.com', 'a"\n} evil 1\n#', '../../etc/passwd', 'x'.repeat(500), '💥'];
    for (const name of hostile) {
      await legacy(`${server.url}/mcp`, 'tools/call', { name, arguments: { [name]: name } });
      await legacy(`${server.url}/mcp`, 'prompts/get', { name });
      await legacy(`${server.url}/mcp`, 'resources/read', { uri: `clientes://${encodeURIComponent(name)}` });
    }
    await call('consultar_cliente');
    await call('consultar_saldo');
    await call('consultar_cliente', 'sin-número');
    const now = await keep();
    const calls = (labels: Record<string, string>) => now.sum('mcp_corp_calls_total', labels);
    expect(calls({ name: 'consultar_cliente', result: 'success', reason: 'none' })).toBe(1);
    expect(calls({ name: 'consultar_cliente', result: 'failure', reason: 'invalid_identifier' })).toBe(1);
    for (const kind of ['tool', 'prompt', 'resource']) {
      expect(calls({ kind, name: 'unknown', result: 'failure', reason: 'not_found' })).toBe(hostile.length);
    }
    expect([...now.values('name')].sort()).toEqual(['consultar_cliente', 'consultar_saldo', 'unknown']);
    expect(now.sum('mcp_corp_call_duration_seconds_count', { name: 'unknown' })).toBe(3 * hostile.length);
    for (const text of ['16760320', 'example.com', 'evil', 'passwd', '💥', 'sin-n'])
      expect(now.text).not.toContain(text);
  });

  it('show a source that hangs, is refused, is killed, is probed, and comes back', async () => {
    await proxy.set({ mode: 'blackhole' });
    // Two take the slots, one waits, the others are too many.
    const many = Promise.all(Array.from({ length: 6 }, () => call('consultar_cliente')));
    await until(async () => (await keep()).sum('mcp_corp_source_queued', postgres) === 1);
    await many;
    const leaver = new AbortController();
    await keep();
    await until(async () => (await keep()).sum('mcp_corp_source_circuit_state', { ...postgres, state: 'open' }) === 1);
    expect((await call('consultar_cliente')).json.result['isError']).toBe(true);
    await until(async () => (await keep()).sum('mcp_corp_source_kills_total', postgres) >= 2);
    await proxy.set({ mode: 'refuse' });
    await until(
      async () => (await keep()).sum('mcp_corp_source_probes_total', { ...postgres, outcome: 'failure' }) > 0,
      15_000,
    );
    await proxy.set({ mode: 'pass' });
    await until(async () => {
      await call('consultar_cliente');
      return (await keep()).sum('mcp_corp_source_circuit_state', { ...postgres, state: 'closed' }) === 1;
    }, 15_000);
    // Somebody leaves while he waits.
    await proxy.set({ mode: 'blackhole' });
    const holders = [call('consultar_cliente'), call('consultar_cliente')];
    await until(async () => (await keep()).sum('mcp_corp_source_in_flight', postgres) === 2);
    const waiter = call('consultar_cliente', undefined, leaver.signal).catch(() => undefined);
    await until(async () => (await keep()).sum('mcp_corp_source_queued', postgres) === 1);
    leaver.abort();
    await Promise.all([...holders, waiter]);
    await proxy.set({ mode: 'pass' });
    await until(async () => (await keep()).sum('mcp_corp_source_in_flight', postgres) === 0);
    // A connection that nobody uses is ended by the server.
    await until(async () => (await call('consultar_cliente')).json.result['isError'] === undefined, 15_000);
    await world.database.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'mcp-corp'",
    );
    await until(async () => (await keep()).sum('mcp_corp_source_pool_lost_connections_total', postgres) > 0);
    const now = await keep();
    const of = (name: string, labels: Record<string, string> = {}) =>
      now.sum(`mcp_corp_source_${name}`, { ...postgres, ...labels });
    expect(of('refusals_total', { code: 'saturated' })).toBeGreaterThanOrEqual(3);
    expect(of('refusals_total', { code: 'circuit_open' })).toBeGreaterThanOrEqual(1);
    expect(of('operations_total', { outcome: 'timeout' })).toBeGreaterThanOrEqual(2);
    expect(of('circuit_transitions_total', { from: 'closed', to: 'open' })).toBeGreaterThanOrEqual(1);
    expect(of('abandoned_total')).toBe(1);
    expect(of('connection_budget_needed')).toBe(2_000);
    expect(now.sum('mcp_corp_source_refusals_total', { source: 'saldo_api' })).toBe(0);
  });

  it('say that the audit cannot be written: in production calls are refused, elsewhere records are lost', async () => {
    const lossy = await freePort();
    // Standard output is a pipe whose reader leaves.
    await using leaking = await ServerProcess.ready(
      { ...world.saldo, MCP_CORP_METRICS__PORT: String(lossy) },
      { launcher: ['/bin/bash', '-c', 'exec "$@" > >(head -n 1)', 'bash'] },
    );
    await until(async () => {
      await modern(`${leaking.url}/mcp`, 'tools/call', { name: 'x', arguments: {} });
      const now = await Exposition.of(`http://127.0.0.1:${lossy}/metrics`);
      scrapes.push(now);
      return now.sum('mcp_corp_audit_lost_records_total') > 0;
    });

    const own = await freePort();
    await using full = await ServerProcess.ready({
      ...world.saldo,
      MCP_CORP_AUDIT_HMAC_SECRET: 'k'.repeat(32),
      MCP_CORP_AUDIT__FILE: '/dev/full',
      MCP_CORP_ENVIRONMENT: 'production',
      MCP_CORP_GOVERNANCE__MODE: 'open',
      MCP_CORP_HTTP__ALLOWED_HOSTS: '127.0.0.1',
      MCP_CORP_METRICS__PORT: String(own),
    });
    const url = `http://127.0.0.1:${own}/metrics`;
    scrapes.push(await Exposition.of(url));
    await until(async () => {
      await modern(`${full.url}/mcp`, 'tools/call', { name: 'x', arguments: {} });
      const now = await Exposition.of(url);
      scrapes.push(now);
      return now.sum('mcp_corp_audit_failing') === 1 && now.sum('mcp_corp_audit_refused_calls_total') > 0;
    });
  });

  it('hold everything that a panel or a rule names, and all of it has moved', async () => {
    await collector.until(({ spans }) => spans.length > 0);
    await until(async () => (await keep()).sum('mcp_corp_trace_spans_total', { result: 'exported' }) > 0);
    // What does not change in the life of a process is looked at, too; it must be there, and more than nothing.
    const constant = new Set([
      ...['mcp_corp_build_info', 'mcp_corp_source_slots', 'mcp_corp_source_pool_max_connections'],
      ...['mcp_corp_source_connection_budget_needed', 'mcp_corp_source_connection_budget_available'],
    ]);
    const still = namedMetrics().filter((name) => {
      const values = scrapes.map((each) => each.of(name).map(({ labels, value }) => JSON.stringify([labels, value])));
      const seen = new Set(values.filter((each) => each.length > 0).map((each) => each.join(' ')));
      return constant.has(name) ? scrapes.every((each) => each.sum(name) === 0) : seen.size < 2;
    });
    expect(still).toEqual([]);
  });
});

const checked = NO_PROMTOOL === undefined ? it : it.skip;
checked(
  `/metrics follows the conventions of Prometheus, says promtool${NO_PROMTOOL === undefined ? '' : ` (skipped: ${NO_PROMTOOL})`}`,
  async () => {
    const { code, said } = promtool(['check', 'metrics'], (await scrape()).text);
    // What Node's own collector of prom-client exposes is not ours to name.
    const ours = said.split('\n').filter((line) => line !== '' && !/^(?:nodejs|process)_/.test(line));
    expect([code === 0 || code === 3, ours]).toEqual([true, []]);
  },
);

describe('/metrics on the main port', () => {
  it('is for whoever has the token, which may come from a file', async () => {
    await using guarded = await ServerProcess.ready({ ...world.saldo, MCP_CORP_METRICS__BEARER_TOKEN: TOKEN });
    const url = `${guarded.url}/metrics`;
    expect((await fetch(url)).status).toBe(401);
    expect((await fetch(url, { headers: { authorization: `Bearer ${TOKEN}x` } })).status).toBe(401);
    const seen = await Exposition.of(url, { authorization: `Bearer ${TOKEN}` });
    expect(seen.types.get('mcp_corp_calls_total')).toBe('counter');
    expect(guarded.stdout).not.toContain(TOKEN);
  });

  it('does not exist without a token, nor beside a port of its own', async () => {
    expect((await fetch(`${server.url}/metrics`)).status).toBe(404);
    await using plain = await ServerProcess.ready(world.saldo);
    expect((await fetch(`${plain.url}/metrics`)).status).toBe(404);
  });
});
