import { afterEach, describe, expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { ConnectorRegistry } from '../../../src/connectors/connector-registry.js';
import { ConnectorsModule, EXECUTOR_OBSERVER } from '../../../src/connectors/connectors.module.js';
import { JsonLogger } from '../../../src/logging/json-logger.js';
import { LoggingModule } from '../../../src/logging/logging.module.js';
import { CircuitOpenError } from '../../../src/resilience/errors.js';
import { FakeClock } from '../../support/fake-clock.js';
import { RecordedLog } from './support/recorded-log.js';
import { never, ScriptedConnector, ScriptedSettings } from './support/scripted-connector.js';

function harness() {
  const clock = new FakeClock();
  const log = new RecordedLog();
  const registry = new ConnectorRegistry({ log, executorLog: log, clock });
  const add = (name: string, settings: Partial<ScriptedSettings> = {}) => {
    const connector = new ScriptedConnector(name);
    const executor = registry.register(connector, Object.assign(new ScriptedSettings(), settings));
    return { connector, executor };
  };
  return { clock, log, registry, add };
}

const signal = (): AbortSignal => new AbortController().signal;
const about = (log: RecordedLog, event: string): unknown[] =>
  log.named(event).map(({ level, fields }) => [level, fields]);

describe('ConnectorRegistry.register', () => {
  it('gives back the executor that runs operations on the connector', async () => {
    const { add, registry } = harness();
    const { executor } = add('postgres', { maxConcurrency: 4 });
    expect(await executor.run(async (resource) => `${resource}!`, { signal: signal() })).toBe('postgres!');
    expect(executor.snapshot()).toMatchObject({ source: 'postgres', max_concurrency: 4, circuit_state: 'closed' });
    expect([registry.has('postgres'), registry.has('saldo_api'), registry.names()]).toEqual([
      true,
      false,
      ['postgres'],
    ]);
  });

  it('refuses the same name twice', () => {
    const { add, registry } = harness();
    add('postgres');
    expect(() => add('postgres')).toThrow("source 'postgres' is registered already");
    expect(registry.names()).toEqual(['postgres']);
  });
});

describe('ConnectorRegistry.connectAll', () => {
  it('says that a source that connects and is healthy is ok', async () => {
    const { add, log, registry } = harness();
    const { executor } = add('postgres');
    await registry.connectAll(signal());
    expect(about(log, 'connector_startup_ok')).toEqual([['INFO', { source: 'postgres' }]]);
    expect(executor.state).toBe('closed');
  });

  it('opens the circuit of a source that fails, and leaves the others alone', async () => {
    const { add, log, registry } = harness();
    const down = add('postgres');
    const up = add('saldo_api');
    const cause = new Error('connect ECONNREFUSED');
    down.connector.onConnect = () => Promise.reject(cause);
    await registry.connectAll(signal());
    expect(about(log, 'connector_startup_failed')).toEqual([
      ['ERROR', { source: 'postgres', detail: 'arranca en modo degradado; el circuito queda abierto' }],
    ]);
    expect(log.named('connector_startup_failed')[0]?.cause).toBe(cause);
    expect([down.executor.state, up.executor.state]).toEqual(['open', 'closed']);
    await expect(down.executor.run(async () => 1, { signal: signal() })).rejects.toBeInstanceOf(CircuitOpenError);
    expect(await up.executor.run(async () => 1, { signal: signal() })).toBe(1);
  });

  it('opens the circuit of a source that connects without being healthy', async () => {
    const { add, log, registry } = harness();
    const { connector, executor } = add('postgres');
    connector.onHealth = async () => false;
    await registry.connectAll(signal());
    const detail = 'connect() no lanzó, pero health() no está sano; el circuito queda abierto';
    expect(about(log, 'connector_startup_degraded')).toEqual([['WARNING', { source: 'postgres', detail }]]);
    expect(executor.state).toBe('open');
  });

  it('connects all sources at the same time', async () => {
    const { add, registry } = harness();
    let waiting = 0;
    let open = (): void => undefined;
    const all = new Promise<void>((resolve) => (open = resolve));
    for (const name of ['a', 'b', 'c']) {
      add(name).connector.onConnect = () => {
        waiting += 1;
        if (waiting === 3) open();
        return all;
      };
    }
    await registry.connectAll(signal());
    expect(waiting).toBe(3);
  });

  it('waits ten seconds for all of them together, and tells those who hang to stop', async () => {
    const { add, clock, log, registry } = harness();
    const told: AbortSignal[] = [];
    for (const name of ['a', 'b']) add(name).connector.onConnect = (limit) => (told.push(limit), never());
    add('c').connector.onHealth = (limit) => (told.push(limit), never());
    let done = false;
    const all = registry.connectAll(signal()).then(() => (done = true));
    await clock.advance(9_999);
    expect(done).toBe(false);
    await clock.advance(1);
    await all;
    expect(told.map(({ aborted }) => aborted)).toEqual([true, true, true]);
    expect(log.named('connector_startup_failed')).toHaveLength(3);
    await registry.closeAll();
  });

  it('leaves off at once when the process is told to stop, without blaming a source', async () => {
    const { add, log, registry } = harness();
    add('a').connector.onConnect = never;
    const stopping = new AbortController();
    const all = registry.connectAll(stopping.signal);
    stopping.abort();
    await all;
    expect(log.lines).toEqual([]);
  });

  it('uses a source that was down at start again when it is back, without any call', async () => {
    const { add, clock, registry } = harness();
    const { connector, executor } = add('postgres', { circuitResetTimeoutSeconds: 3600 });
    connector.onConnect = () => Promise.reject(new Error('down'));
    await registry.connectAll(signal());
    await clock.advance(20_000);
    expect(executor.state).toBe('open');
    connector.onConnect = async () => undefined;
    await clock.advance(10_000);
    expect(executor.state).toBe('closed');
    expect(await executor.run(async () => 'otra vez', { signal: signal() })).toBe('otra vez');
    await registry.closeAll();
  });
});

describe('ConnectorRegistry.diagnostics', () => {
  it('shows each source with its executor, its health and its figures', async () => {
    const { add, registry } = harness();
    add('postgres').connector.figures = { pool_min: 1, pool_max: 10 };
    add('saldo_api');
    expect(await registry.diagnostics()).toEqual({
      postgres: {
        source: 'postgres',
        circuit_state: 'closed',
        in_flight: 0,
        queued: 0,
        settling: 0,
        max_concurrency: 10,
        opened_at: null,
        next_probe_at: null,
        last_error: null,
        rate_limit: null,
        healthy: true,
        pool: { pool_min: 1, pool_max: 10 },
      },
      saldo_api: expect.objectContaining({ source: 'saldo_api', healthy: true, pool: {} }) as unknown,
    });
  });

  it('is empty without sources', async () => {
    expect(await harness().registry.diagnostics()).toEqual({});
  });

  it('does not ask the sources more often because it is asked often', async () => {
    const { add, clock, registry } = harness();
    const { connector } = add('postgres');
    await registry.connectAll(signal());
    for (let n = 0; n < 100; n += 1) await registry.diagnostics();
    expect(connector.checks).toBe(1);
    await clock.advance(2_000);
    await Promise.all(Array.from({ length: 100 }, () => registry.diagnostics()));
    expect(connector.checks).toBe(2);
  });

  it('asks the sources at the same time and waits three seconds for the slowest', async () => {
    const { add, clock, registry } = harness();
    add('a').connector.onHealth = never;
    add('b').connector.onHealth = never;
    add('c');
    const answer = registry.diagnostics();
    await clock.advance(3_000);
    const shown = Object.values(await answer);
    expect(shown.map(({ source, healthy }) => [source, healthy])).toEqual([
      ['a', false],
      ['b', false],
      ['c', true],
    ]);
  });

  it('calls a source with an open circuit unhealthy, without asking it', async () => {
    const { add, registry } = harness();
    const { connector, executor } = add('a', { circuitFailureThreshold: 1 });
    const failing = executor.run(() => Promise.reject(new Error('x')), { signal: signal() });
    await expect(failing).rejects.toThrow();
    expect((await registry.diagnostics()).a).toMatchObject({ circuit_state: 'open', healthy: false });
    expect(connector.checks).toBe(0);
    await registry.closeAll();
  });
});

describe('ConnectorRegistry.diagnostics while the circuit opens', () => {
  it('does not call healthy what has just been given up', async () => {
    const { add, registry } = harness();
    const { connector, executor } = add('a', { circuitFailureThreshold: 1 });
    connector.onHealth = async () => {
      await executor.run(() => Promise.reject(new Error('x')), { signal: signal() }).catch(() => undefined);
      return true;
    };
    expect((await registry.diagnostics()).a).toMatchObject({ circuit_state: 'open', healthy: false });
    await registry.closeAll();
  });
});

describe('ConnectorRegistry.closeAll', () => {
  it('closes every source although one of them fails and another hangs', async () => {
    const { add, clock, log, registry } = harness();
    const [failing, hanging, fine] = [add('a'), add('b'), add('c')];
    const cause = new Error('no');
    failing.connector.onClose = () => Promise.reject(cause);
    hanging.connector.onClose = never;
    let done = false;
    const all = registry.closeAll().then(() => (done = true));
    await clock.advance(2_999);
    expect([failing.connector.closes, hanging.connector.closes, fine.connector.closes, done]).toEqual([1, 1, 1, false]);
    await clock.advance(1);
    await all;
    expect(about(log, 'connector_close_failed')).toEqual([
      ['ERROR', { source: 'a', part: 'connector' }],
      ['ERROR', { source: 'b', part: 'connector' }],
    ]);
    expect(log.named('connector_close_failed')[0]?.cause).toBe(cause);
  });

  it('ends the calls under way first, and then closes their connector', async () => {
    const { add, registry } = harness();
    const { connector, executor } = add('a');
    const order: string[] = [];
    const call = executor.run(
      (_resource, stop) =>
        new Promise<never>((_resolve, reject) => {
          stop.addEventListener('abort', () => {
            order.push('call ended');
            reject(new Error('stopped'));
          });
        }),
      { signal: signal() },
    );
    connector.onClose = async () => void order.push('connector closed');
    const ended = expect(call).rejects.toThrow();
    await registry.closeAll();
    await ended;
    expect(order).toEqual(['call ended', 'connector closed']);
  });
});

describe('ConnectorsModule', () => {
  const written: string[] = [];
  afterEach(() => void written.splice(0));
  const sink = {
    write: (line: string) => (written.push(line), true),
    unwrittenBytes: 0,
    failure: undefined,
    flush: async () => true,
  };

  it('gives everybody the same registry, with the observer that another module binds', async () => {
    const seen: string[] = [];

    @Module({
      providers: [{ provide: EXECUTOR_OBSERVER, useValue: { started: (source: string) => seen.push(source) } }],
      exports: [EXECUTOR_OBSERVER],
    })
    class ObservingModule {}

    const logger = new JsonLogger({ sink, level: 'INFO', service: 's', version: 'v', environment: 'local' });
    const module = await Test.createTestingModule({
      imports: [LoggingModule.register(logger), { module: ObservingModule, global: true }, ConnectorsModule],
    }).compile();
    const registry = module.get(ConnectorRegistry);
    const executor = registry.register(new ScriptedConnector('a'), new ScriptedSettings());
    await executor.run(async () => 1, { signal: signal() });
    expect(seen).toEqual(['a']);
    await registry.connectAll(signal());
    expect(written.map((line) => (JSON.parse(line) as { logger: string }).logger)).toContain('mcp_corp.connectors');
    await registry.closeAll();
    await module.close();
  });
});
