import { describe, expect, it } from '@jest/globals';
import { HealthCheck } from '../../../src/connectors/health-check.js';
import { FakeClock } from '../../support/fake-clock.js';
import { never, ScriptedConnector } from './support/scripted-connector.js';

function harness() {
  const clock = new FakeClock();
  const connector = new ScriptedConnector('fuente');
  return { clock, connector, health: new HealthCheck(connector, clock) };
}

describe('HealthCheck', () => {
  it('asks the source once for everybody who asks at the same time', async () => {
    const { clock, connector, health } = harness();
    expect(await Promise.all(Array.from({ length: 20 }, () => health.healthy()))).toEqual(Array(20).fill(true));
    expect(connector.checks).toBe(1);
    expect(clock.pending).toBe(0);
  });

  it('asks again only after two seconds', async () => {
    const { clock, connector, health } = harness();
    await health.healthy();
    connector.onHealth = async () => false;
    await clock.advance(1_999);
    expect(await health.healthy()).toBe(true);
    expect(connector.checks).toBe(1);
    await clock.advance(1);
    expect(await health.healthy()).toBe(false);
    expect(connector.checks).toBe(2);
  });

  it('calls a source that does not answer within three seconds unhealthy, tells it to stop, and remembers that', async () => {
    const { clock, connector, health } = harness();
    let told: AbortSignal | undefined;
    connector.onHealth = (signal) => ((told = signal), never());
    const answer = health.healthy();
    await clock.advance(2_999);
    expect(told?.aborted).toBe(false);
    await clock.advance(1);
    expect(await answer).toBe(false);
    expect(told?.aborted).toBe(true);
    expect(await health.healthy()).toBe(false);
    expect(connector.checks).toBe(1);
    expect(clock.pending).toBe(0);
  });

  it('calls a check that rejects unhealthy', async () => {
    const { connector, health } = harness();
    connector.onHealth = () => Promise.reject(new Error('x'));
    expect(await health.healthy()).toBe(false);
  });

  it('does not ask what was learnt elsewhere a moment ago', async () => {
    const { connector, health } = harness();
    health.learn(false);
    expect(await health.healthy()).toBe(false);
    expect(connector.checks).toBe(0);
  });
});
