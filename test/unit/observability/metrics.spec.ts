import { describe, expect, it } from '@jest/globals';
import type { SourceFigures } from '../../../src/connectors/connector-registry.js';
import type { McpCall } from '../../../src/mcp/call.js';
import { BearerToken } from '../../../src/observability/bearer-token.js';
import { bothCalls, bothExecutors } from '../../../src/observability/both-observers.js';
import { Metrics } from '../../../src/observability/metrics/metrics.js';
import { Observability } from '../../../src/observability/observability.js';
import { MetricsSettings } from '../../../src/observability/metrics.settings.js';
import { TracingSettings } from '../../../src/observability/tracing.settings.js';
import { ServiceSettings } from '../../../src/config/service.settings.js';
import { Exposition } from '../../support/exposition.js';
import { freePort } from '../../../scripts/free-port.mjs';
import { RecordedLog } from '../connectors/support/recorded-log.js';

const call = (name: string, kind: McpCall['kind'] = 'tool') => ({ kind, name }) as McpCall;
const scrape = async (metrics: Metrics) => new Exposition(await metrics.text());

const figures = (pool: Record<string, number>): SourceFigures => ({
  ...{ source: 'fuente', circuit_state: 'half_open', in_flight: 3, queued: 2, settling: 1, max_concurrency: 4 },
  ...{ opened_at: null, next_probe_at: null, last_error: null, rate_limit: null },
  ...{ pool, more: { budget: { needed: 40, available: 12 } } },
});

describe('metrics', () => {
  it('count each call under its name and its code, and keep the labels few whatever comes', async () => {
    const metrics = new Metrics('1.2.3');
    metrics.calls.ended(call('consultar'), { result: 'success' }, 0.02);
    metrics.calls.ended(call('consultar'), { result: 'denied', reason: 'no_grant_matches' }, 0.001);
    for (let n = 0; n < 5_000; n += 1) {
      metrics.calls.ended(call(`V-${n}"\n{evil="1"}`), { result: 'failure', reason: `code_${n}` }, 1);
    }
    const seen = await scrape(metrics);
    expect(seen.of('mcp_corp_calls_total', { name: 'consultar' }).map(({ labels, value }) => [labels, value])).toEqual([
      [{ kind: 'tool', name: 'consultar', result: 'success', reason: 'none' }, 1],
      [{ kind: 'tool', name: 'consultar', result: 'denied', reason: 'no_grant_matches' }, 1],
    ]);
    expect(seen.sum('mcp_corp_calls_total')).toBe(5_002);
    expect(seen.values('name').size).toBeLessThanOrEqual(2_001);
    expect(seen.values('reason').size).toBeLessThanOrEqual(101);
    expect(seen.sum('mcp_corp_calls_total', { name: 'other' })).toBeGreaterThan(2_900);
  });

  it('show a source as it is at the moment of the scrape, with a zero for everything that has not happened', async () => {
    const metrics = new Metrics('1.2.3');
    let pool: Record<string, number> = { pool_size: 5, pool_available: 2, pool_max: 10, connections_num: 7 };
    metrics.attach({
      sources: () => [figures(pool)],
      trail: () => ({ open: 1, records: 9, lostRecords: 0, refusedCalls: 0, unwrittenBytes: 77, failing: true }),
      inFlight: () => 6,
    });
    metrics.sources.refused('fuente', 'saturated');
    metrics.sources.settled('fuente', 'timeout', 0.5);
    const seen = await scrape(metrics);
    const of = (name: string, labels: Record<string, string> = {}) => seen.sum(`mcp_corp_source_${name}`, labels);
    expect([of('in_flight'), of('queued'), of('settling'), of('slots')]).toEqual([3, 2, 1, 4]);
    expect([of('circuit_state', { state: 'half_open' }), of('circuit_state')]).toEqual([1, 1]);
    expect([of('refusals_total', { code: 'saturated' }), of('refusals_total', { code: 'circuit_open' })]).toEqual([
      1, 0,
    ]);
    expect(
      seen
        .of('mcp_corp_source_operations_total')
        .map(({ value }) => value)
        .sort(),
    ).toEqual([0, 0, 0, 0, 0, 0, 1]);
    expect(seen.of('mcp_corp_source_circuit_transitions_total')).toHaveLength(6);
    expect([of('pool_connections'), of('pool_idle_connections'), of('pool_connects_total')]).toEqual([5, 2, 7]);
    expect([of('connection_budget_needed'), of('connection_budget_available')]).toEqual([40, 12]);
    expect([seen.sum('mcp_corp_audit_failing'), seen.sum('mcp_corp_audit_records_total')]).toEqual([1, 9]);
    expect(seen.sum('mcp_corp_calls_in_flight')).toBe(6);
    expect(seen.of('mcp_corp_build_info')[0]?.labels).toEqual({ version: '1.2.3', node: process.versions.node });
    // A total is taken over, not added to itself.
    pool = { ...pool, connections_num: 8 };
    expect((await scrape(metrics)).sum('mcp_corp_source_pool_connects_total')).toBe(8);
  });

  it('are named as Prometheus wants them: base units, totals that say so', async () => {
    for (const { name, type } of await new Metrics('0').described()) {
      if (!name.startsWith('mcp_corp_')) continue;
      expect(name.endsWith('_total')).toBe(type === 'counter');
      expect(name).not.toMatch(/_(?:ms|milliseconds|kb|percent)(?:_|$)/);
      if (type === 'histogram') expect(name).toMatch(/_seconds$/);
    }
  });
});

describe('what is off', () => {
  const parts = (metrics: Partial<MetricsSettings>) => ({
    service: Object.assign(new ServiceSettings(), { host: '127.0.0.1' }),
    metrics: Object.assign(new MetricsSettings(), metrics),
    tracing: new TracingSettings(),
    replica: 'r1',
    log: new RecordedLog(),
  });

  it('is not there: no observer, no tracer, no metrics', async () => {
    const { metrics, callObserver, callTracer, executorObserver, tokenOnMainPort } = await Observability.of(parts({}));
    expect([metrics, callObserver, callTracer, executorObserver, tokenOnMainPort]).toEqual(Array(5).fill(undefined));
  });

  it('does not come in through the observer of the other', () => {
    const counting = { ended: () => undefined };
    expect(bothCalls(counting, undefined)).toBe(counting);
    expect(bothExecutors(undefined, undefined)).toBeUndefined();
    const tracing = { began: () => undefined };
    expect(bothExecutors(undefined, tracing)).toBe(tracing);
  });

  it('on a port of its own nothing but /metrics is served, and with a token only to whoever has it', async () => {
    const port = await freePort();
    const observability = await Observability.of(parts({ port, bearerToken: 'clave-de-prueba' }));
    await observability.listen();
    const status = async (path: string, init: RequestInit = {}) =>
      (await fetch(`http://127.0.0.1:${port}${path}`, init)).status;
    const authorization = 'Bearer clave-de-prueba';
    expect(await status('/metrics')).toBe(401);
    expect(await status('/metrics', { headers: { authorization: 'Bearer otra' } })).toBe(401);
    expect(await status('/metrics?x=1', { headers: { authorization } })).toBe(200);
    expect(await status('/metrics', { method: 'POST', headers: { authorization } })).toBe(405);
    expect(await status('/', { headers: { authorization } })).toBe(404);
    await observability.close();
    await observability.close();
    await expect(status('/metrics')).rejects.toThrow();
  });

  it('a bearer token is compared whole', () => {
    const token = new BearerToken('clave');
    expect([undefined, '', 'clave', 'Basic clave', 'Bearer clav', 'Bearer clave2'].map((h) => token.admits(h))).toEqual(
      Array(6).fill(false),
    );
    expect([token.admits('Bearer clave'), token.admits('bearer  clave ')]).toEqual([true, true]);
  });
});
