import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { problemsOf, rendered, store } from './sections.js';

const enabled = (text: string) => store({ MCP_CORP_STORE__ENABLED: text, MCP_CORP_STORE__DSN: 'x' }).enabled;
const pool = (text: string) => store({ MCP_CORP_STORE__MAX_POOL_SIZE: text }).maxPoolSize;
const timeout = (text: string) => store({ MCP_CORP_STORE__TIMEOUT_SECONDS: text }).timeoutSeconds;

describe('booleans', () => {
  it.each(['true', '1', 'yes', 'on', 't', 'y', 'TRUE', 'Yes', ' on '])('%j is true', (text) => {
    expect(enabled(text)).toBe(true);
  });

  it.each(['false', '0', 'no', 'off', 'f', 'n', 'FALSE', 'No', ' off '])('%j is false', (text) => {
    expect(enabled(text)).toBe(false);
  });

  it('anything else is a problem that does not show it', () => {
    const problems = problemsOf(() => enabled('verdadero'));
    expect(problems).toEqual([
      { variable: 'MCP_CORP_STORE__ENABLED', problem: 'must be true or false (also 1/0, yes/no, on/off, t/f, y/n)' },
    ]);
  });
});

describe('integers', () => {
  it.each(['80', ' 80 ', '80.0', '80.', '+80'])('%j is 80', (text) => {
    expect(pool(text)).toBe(80);
  });

  it.each(['8.5', '0x10', '1e2', 'NaN', 'Infinity', '12a', '- 1', '9007199254740993'])('%j is refused', (text) => {
    expect(rendered(problemsOf(() => pool(text)))).toBe('MCP_CORP_STORE__MAX_POOL_SIZE must be a whole number');
  });

  it('every whole number within the bounds is read as itself', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), (value) => {
        expect(pool(String(value))).toBe(value);
      }),
    );
  });
});

describe('numbers', () => {
  it.each([
    ['0.5', 0.5],
    ['.5', 0.5],
    [' 5 ', 5],
    ['1e-3', 0.001],
  ])('%j keeps its fraction', (text, value) => {
    expect(timeout(text)).toBe(value);
  });

  it.each(['NaN', 'nan', 'Infinity', 'inf', '1e999', '5s', '0x5', ' - 5'])('%j is refused', (text) => {
    expect(rendered(problemsOf(() => timeout(text)))).toBe('MCP_CORP_STORE__TIMEOUT_SECONDS must be a number');
  });
});

describe('lists', () => {
  it('are separated by commas, trimmed, without empty items', () => {
    expect(store({ MCP_CORP_STORE__NAMES: ' uno, dos ,,tres,' }).names).toEqual(['uno', 'dos', 'tres']);
  });

  it('of nothing but commas are refused: they would mean "nobody" by accident', () => {
    expect(rendered(problemsOf(() => store({ MCP_CORP_STORE__NAMES: ', ,' })))).toMatch(
      /must be a comma-separated list/,
    );
  });
});
