import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ConnectorRegistry } from '../../../src/connectors/connector-registry.js';
import { until } from '../../support/until.js';
import { RecordedLog } from './support/recorded-log.js';
import { never, ScriptedConnector, ScriptedSettings } from './support/scripted-connector.js';

let registry: ConnectorRegistry;
let connector: ScriptedConnector;
let connected: number;

beforeEach(() => {
  registry = new ConnectorRegistry({ log: new RecordedLog(), executorLog: new RecordedLog() });
  connector = new ScriptedConnector('guion');
  connected = 0;
});
afterEach(() => registry.closeAll());

const register = (diagnostics?: () => Record<string, unknown>) =>
  registry.register(connector, new ScriptedSettings(), { connected: () => (connected += 1), diagnostics });

describe('the companion of a source', () => {
  it('is told once that the source is connected at start', async () => {
    register();
    await registry.connectAll(new AbortController().signal);
    expect(connected).toBe(1);
  });

  it('is told when a source that was down at start has been connected, and not again', async () => {
    let down = true;
    connector.onConnect = async () => {
      if (down) throw new Error('down');
    };
    const executor = register();
    await registry.connectAll(new AbortController().signal);
    expect(connected).toBe(0);
    down = false;
    await until(() => executor.state === 'closed');
    expect(connected).toBe(1);
    executor.startFailed();
    await until(() => executor.state === 'closed');
    expect(connected).toBe(1);
  });

  it('is not told of a start that a stop has cut short', async () => {
    connector.onConnect = never;
    register();
    const leave = new AbortController();
    const connecting = registry.connectAll(leave.signal);
    leave.abort();
    await connecting;
    expect(connected).toBe(0);
  });

  it("adds fields to the source's diagnostics and cannot change those that are there", async () => {
    register(() => ({ budget: { needed: 3 }, circuit_state: 'open', healthy: false }));
    await registry.connectAll(new AbortController().signal);
    expect(await registry.diagnostics()).toMatchObject({
      guion: { budget: { needed: 3 }, circuit_state: 'closed', healthy: true },
    });
  });
});
