import { describe, expect, it } from '@jest/globals';
import { loadSettings } from '../../../src/config/load-settings.js';
import { ConfigurationError } from '../../../src/config/problem.js';
import { defineSource } from '../../../src/connectors/source.js';
import { SourceSettings } from '../../../src/connectors/source-settings.js';

class PruebaSettings extends SourceSettings {
  static readonly section = 'PRUEBA';
}

const load = (variables: Record<string, string>): PruebaSettings => {
  const env = Object.fromEntries(Object.entries(variables).map(([name, value]) => [`MCP_CORP_PRUEBA__${name}`, value]));
  return loadSettings(env, [PruebaSettings]).get(PruebaSettings);
};

function problemsOf(variables: Record<string, string>): string[] {
  try {
    load(variables);
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems.map(({ variable }) => variable);
    throw error;
  }
  return [];
}

describe('SourceSettings', () => {
  it("has the reference's defaults", () => {
    expect(load({}).executorSettings()).toEqual({
      maxConcurrency: 10,
      maxQueue: 100,
      acquireTimeoutMs: 2000,
      operationTimeoutMs: 5000,
      callDeadlineMs: 7000,
      cancelGraceMs: 2000,
      failureThreshold: 5,
      resetTimeoutMs: 30_000,
      successThreshold: 2,
      rateLimitPerSecond: undefined,
      rateLimitBurst: 1,
    });
  });

  it('derives the queue from the concurrency, the burst from the rate and the deadline from its parts', () => {
    const settings = load({
      MAX_CONCURRENCY: '3',
      RATE_LIMIT_PER_SECOND: '2.5',
      ACQUIRE_TIMEOUT_SECONDS: '0.5',
      OPERATION_TIMEOUT_SECONDS: '1.5',
    });
    expect(settings.executorSettings()).toMatchObject({ maxQueue: 30, rateLimitBurst: 3, callDeadlineMs: 2000 });
    expect(load({ RATE_LIMIT_PER_SECOND: '0.2' }).executorSettings().rateLimitBurst).toBe(1);
  });

  it('passes on what is set', () => {
    const settings = load({
      ENABLED: 'true',
      MAX_QUEUE: '0',
      CANCEL_GRACE_SECONDS: '0.25',
      CALL_DEADLINE_SECONDS: '3',
      RATE_LIMIT_PER_SECOND: '5',
      RATE_LIMIT_BURST: '9',
      CIRCUIT_FAILURE_THRESHOLD: '1',
      CIRCUIT_RESET_TIMEOUT_SECONDS: '0.5',
      CIRCUIT_SUCCESS_THRESHOLD: '4',
    });
    expect(settings.enabled).toBe(true);
    expect(settings.executorSettings()).toMatchObject({
      maxQueue: 0,
      cancelGraceMs: 250,
      callDeadlineMs: 3000,
      rateLimitPerSecond: 5,
      rateLimitBurst: 9,
      failureThreshold: 1,
      resetTimeoutMs: 500,
      successThreshold: 4,
    });
  });

  it.each([
    ['MAX_CONCURRENCY', ['0', '-1', '1.5', 'NaN', 'Infinity', '1001']],
    ['ACQUIRE_TIMEOUT_SECONDS', ['0', '-1', 'NaN', 'Infinity', '601']],
    ['OPERATION_TIMEOUT_SECONDS', ['0', '-1', 'NaN', 'Infinity', '601']],
    ['CIRCUIT_FAILURE_THRESHOLD', ['0', '2.5', 'NaN', '1001']],
    ['CIRCUIT_RESET_TIMEOUT_SECONDS', ['0', 'NaN', 'Infinity', '86401']],
    ['CIRCUIT_SUCCESS_THRESHOLD', ['0', 'NaN', '1001']],
    ['RATE_LIMIT_PER_SECOND', ['0', '-3', 'NaN', 'Infinity']],
    ['MAX_QUEUE', ['-1', '0.5', 'NaN', '1000001']],
    ['CANCEL_GRACE_SECONDS', ['-1', 'NaN', 'Infinity', '61']],
    ['CALL_DEADLINE_SECONDS', ['0', '-1', 'NaN', 'Infinity', '1201']],
  ])('refuses %s out of bounds', (name, values) => {
    for (const value of values)
      expect([value, problemsOf({ [name]: value })]).toEqual([value, [`MCP_CORP_PRUEBA__${name}`]]);
  });

  it('refuses a burst without a rate', () => {
    expect(problemsOf({ RATE_LIMIT_BURST: '5' })).toEqual(['MCP_CORP_PRUEBA__RATE_LIMIT_BURST']);
  });
});

describe('defineSource', () => {
  class PruebaModule {}

  it('gives back an unchangeable definition', () => {
    const source = defineSource({ name: 'prueba', section: PruebaSettings, module: PruebaModule });
    expect(source).toEqual({ name: 'prueba', section: PruebaSettings, module: PruebaModule });
    expect(Object.isFrozen(source)).toBe(true);
  });

  it('refuses a name or a section that could not be written everywhere', () => {
    for (const name of ['', 'Prueba', '1a', 'a-b', 'a'.repeat(33)]) {
      expect(() => defineSource({ name, section: PruebaSettings, module: PruebaModule })).toThrow(/source name/);
    }
    for (const section of ['', 'prueba', 'A__B']) {
      class OtherSettings extends SourceSettings {
        static readonly section = section;
      }
      expect(() => defineSource({ name: 'prueba', section: OtherSettings, module: PruebaModule })).toThrow(/section/);
    }
  });
});
