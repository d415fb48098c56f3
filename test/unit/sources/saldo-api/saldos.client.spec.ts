import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type INestApplicationContext } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { type Fault, type SaldoStub, startSaldoStub } from '../../../../deploy/dev/saldo-api-stub.mjs';
import { loadSettings } from '../../../../src/config/load-settings.js';
import { SettingsModule } from '../../../../src/config/settings.module.js';
import { ConnectorRegistry } from '../../../../src/connectors/connector-registry.js';
import { ConnectorsModule } from '../../../../src/connectors/connectors.module.js';
import { JsonLogger } from '../../../../src/logging/json-logger.js';
import { type LineSink } from '../../../../src/logging/line-sink.js';
import { LoggingModule } from '../../../../src/logging/logging.module.js';
import { SALDO_API } from '../../../../src/sources/saldo-api/saldo-api.module.js';
import { SaldosClient } from '../../../../src/sources/saldo-api/saldos.client.js';

/** The whole source as the application builds it: settings from variables, Nest module, executor, connector, a real API. */
class Lines implements LineSink {
  readonly unwrittenBytes = 0;
  readonly failure = undefined;
  readonly written: string[] = [];
  readonly #waiting = new Set<() => void>();

  write(line: string): boolean {
    this.written.push(line);
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
    return true;
  }

  flush(): Promise<boolean> {
    return Promise.resolve(true);
  }

  async until(fits: (line: Record<string, unknown>) => boolean): Promise<void> {
    while (!this.written.some((line) => fits(JSON.parse(line) as Record<string, unknown>))) {
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }
}

const signal = (): AbortSignal => new AbortController().signal;

let stub: SaldoStub;
let lines: Lines;
let app: INestApplicationContext | undefined;

async function start(
  variables: Record<string, string> = {},
): Promise<{ saldos: SaldosClient; registry: ConnectorRegistry }> {
  const given = { ENABLED: 'true', BASE_URL: stub.url, ...variables };
  const env = Object.fromEntries(Object.entries(given).map(([name, value]) => [`MCP_CORP_SALDO_API__${name}`, value]));
  const logger = new JsonLogger({
    sink: lines,
    level: 'DEBUG',
    service: 'mcp-corp',
    version: 'v',
    environment: 'local',
  });
  const module = await Test.createTestingModule({
    imports: [
      SettingsModule.register(loadSettings(env, [SALDO_API.section])),
      LoggingModule.register(logger),
      ConnectorsModule,
      SALDO_API.module,
    ],
  }).compile();
  app = module;
  return { saldos: module.get(SaldosClient), registry: module.get(ConnectorRegistry) };
}

beforeEach(async () => {
  stub = await startSaldoStub();
  lines = new Lines();
});

afterEach(async () => {
  await app?.get(ConnectorRegistry).closeAll();
  await app?.close();
  app = undefined;
  await stub.close();
  const all = lines.written.join('\n');
  // Whatever a test made go wrong, nobody's identifier, balance or address is in the log.
  for (const secret of ['V16760320', 'V16760321', '16760320', '1500000', '/saldos/', '127.0.0.1', `:${stub.port}`]) {
    expect(all).not.toContain(secret);
  }
});

async function codeOf(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return (error as { code: string }).code;
}

describe('SaldosClient', () => {
  it('is the balance, for one request of the canonical identifier', async () => {
    const { saldos, registry } = await start();
    expect(registry.names()).toEqual(['saldo_api']);
    const saldo = await saldos.porCedula('V16760320', { signal: signal() });
    expect(JSON.stringify(saldo)).toBe('{"cedula":"V16760320","saldo":1500000.5,"moneda":"COP"}');
    expect(stub.requests).toEqual([{ method: 'GET', path: '/saldos/V16760320' }]);
  });

  it('is null for somebody without a balance, which is no failure of the source', async () => {
    const { saldos, registry } = await start({ CIRCUIT_FAILURE_THRESHOLD: '1' });
    for (let n = 0; n < 3; n += 1) expect(await saldos.porCedula('V16760322', { signal: signal() })).toBeNull();
    expect((await registry.diagnostics()).saldo_api).toMatchObject({
      circuit_state: 'closed',
      healthy: true,
      pool: {},
    });
  });

  it("is unavailable for the API's own errors", async () => {
    const { saldos } = await start();
    expect(await codeOf(saldos.porCedula('V90000001', { signal: signal() }))).toBe('unavailable');
  });

  it.each<[Fault, string]>([
    [{ kind: 'bad_json' }, 'unavailable'],
    [{ kind: 'wrong_cedula' }, 'unavailable'],
    [{ kind: 'drop' }, 'unavailable'],
    [{ kind: 'endless_body' }, 'unavailable'],
    [{ kind: 'dripping_body' }, 'timeout'],
    [{ kind: 'silence' }, 'timeout'],
    [{ kind: 'latency', ms: 60_000 }, 'timeout'],
    [{ kind: 'too_many_requests', retryAfter: '5' }, 'rate_limited'],
    [{ kind: 'status', status: 403 }, 'rejected'],
    [{ kind: 'status', status: 301 }, 'rejected'],
    [{ kind: 'status', status: 503, retryAfter: '5' }, 'unavailable'],
  ])('answers %j with %s, within the deadline', async (fault, code) => {
    const { saldos } = await start({ OPERATION_TIMEOUT_SECONDS: '1' });
    stub.setFault(fault);
    const begun = performance.now();
    expect(await codeOf(saldos.porCedula('V16760320', { signal: signal() }))).toBe(code);
    expect(performance.now() - begun).toBeLessThan(2000);
  });

  it('counts a malformed body against the source', async () => {
    const { saldos, registry } = await start({ CIRCUIT_FAILURE_THRESHOLD: '2' });
    stub.setFault({ kind: 'wrong_cedula' });
    for (let n = 0; n < 2; n += 1) await codeOf(saldos.porCedula('V16760320', { signal: signal() }));
    expect(await codeOf(saldos.porCedula('V16760320', { signal: signal() }))).toBe('circuit_open');
    expect((await registry.diagnostics()).saldo_api).toMatchObject({
      circuit_state: 'open',
      healthy: false,
      last_error: { class: 'MalformedBodyError(FOREIGN_SUBJECT)' },
    });
  });
});

describe('saldo_api down at start', () => {
  it('starts degraded, fails cleanly, and is used again when it is back, without any call', async () => {
    const { port } = stub;
    await stub.close();
    const { saldos, registry } = await start({ CIRCUIT_RESET_TIMEOUT_SECONDS: '3600' });
    await registry.connectAll(signal());
    expect(lines.written.some((line) => line.includes('connector_startup_failed'))).toBe(true);
    expect((await registry.diagnostics()).saldo_api).toMatchObject({ circuit_state: 'open', healthy: false });
    expect(await codeOf(saldos.porCedula('V16760320', { signal: signal() }))).toBe('circuit_open');

    stub = await startSaldoStub({ port });
    const back = performance.now();
    await lines.until(({ message, to_state: to }) => message === 'circuit_breaker_state_change' && to === 'closed');
    expect(performance.now() - back).toBeLessThan(10_000);
    expect(stub.requests.every(({ path }) => path === '/health')).toBe(true);
    expect(await saldos.porCedula('V16760321', { signal: signal() })).toMatchObject({ saldo: 320000 });
    expect((await registry.diagnostics()).saldo_api).toMatchObject({ circuit_state: 'closed', healthy: true });
  });

  it('that goes down later comes back within the reset time and two seconds, without any call', async () => {
    const { saldos, registry } = await start({ CIRCUIT_FAILURE_THRESHOLD: '1', CIRCUIT_RESET_TIMEOUT_SECONDS: '0.5' });
    await registry.connectAll(signal());
    const { port } = stub;
    await stub.close();
    await codeOf(saldos.porCedula('V16760320', { signal: signal() }));
    expect((await registry.diagnostics()).saldo_api).toMatchObject({ circuit_state: 'open' });
    stub = await startSaldoStub({ port });
    const back = performance.now();
    await lines.until(({ message, to_state: to }) => message === 'circuit_breaker_state_change' && to === 'closed');
    expect(performance.now() - back).toBeLessThan(2_500);
    expect(await saldos.porCedula('V16760321', { signal: signal() })).toMatchObject({ saldo: 320000 });
  });
});
