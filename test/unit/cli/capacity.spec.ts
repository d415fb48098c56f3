import { describe, expect, it } from '@jest/globals';
import { Command, CommanderError } from 'commander';
import fc from 'fast-check';
import { CAPACITY, capacity } from '../../../src/cli/capacity.js';
import { capacityOf, type CapacityQuestion } from '../../../src/cli/capacity-arithmetic.js';

const QUESTION: CapacityQuestion = {
  replicas: 3,
  surge: 1,
  pool: 10,
  concurrency: 10,
  maxConnections: 100,
  reserved: 15,
  others: 0,
  apiConcurrency: 10,
};

interface Told {
  code: number | undefined;
  out: string;
  err: string;
}

function ask(...args: string[]): Told {
  const told: Told = { code: undefined, out: '', err: '' };
  const program = new Command('mcp-corp').exitOverride().configureOutput({ writeErr: (text) => (told.err += text) });
  const terminal = { out: (text: string) => void (told.out += text), err: (text: string) => void (told.err += text) };
  capacity(program, terminal, (code) => (told.code = code));
  program.parse(['capacity', ...args], { from: 'user' });
  return told;
}

describe('the arithmetic of capacity', () => {
  it('divides a ceiling by the replicas, those of a running update included', () => {
    const { api } = capacityOf({ ...QUESTION, replicas: 4, surge: 0, apiCeiling: 40 });
    expect(api).toEqual({ ceiling: 40, used: 40, fits: true, largestConcurrency: 10, largestReplicas: 4 });
    expect(capacityOf({ ...QUESTION, replicas: 4, surge: 1, apiCeiling: 40 }).api?.fits).toBe(false);
  });

  it("gives the reference's figures: 200 connections, 15 not ours, pool 10, 18 replicas", () => {
    expect(capacityOf({ ...QUESTION, maxConnections: 200, surge: 0 }).database.largestReplicas).toBe(18);
  });

  it('counts the slots of the replicas that stay, not of an update, as throughput', () => {
    expect(capacityOf({ ...QUESTION, operationMs: 50 }).operationsPerSecond).toBe(600);
  });

  it('names the largest numbers that fit, and no larger ones', () => {
    const count = fc.integer({ min: 1, max: 200 });
    fc.assert(
      fc.property(
        count,
        fc.integer({ min: 0, max: 3 }),
        count,
        fc.integer({ min: 1, max: 5000 }),
        (replicas, surge, pool, max) => {
          const question = { ...QUESTION, replicas, surge, pool, maxConnections: max };
          const { largestReplicas, largestPool } = capacityOf(question).database;
          const fits = (change: Partial<CapacityQuestion>) => capacityOf({ ...question, ...change }).database.fits;
          expect(largestReplicas === 0 || fits({ replicas: largestReplicas })).toBe(true);
          expect(fits({ replicas: largestReplicas + 1 })).toBe(false);
          expect(largestPool === 0 || fits({ pool: largestPool })).toBe(true);
          expect(fits({ pool: largestPool + 1 })).toBe(false);
        },
      ),
    );
  });
});

describe('mcp-corp capacity', () => {
  it('prints the arithmetic and ends with 0 when it fits', () => {
    const { code, out } = ask(
      '--replicas',
      '6',
      '--max-connections',
      '200',
      '--api-ceiling',
      '80',
      '--operation-ms',
      '50',
    );
    expect(code).toBe(CAPACITY.fits);
    expect(out).toContain('6 replicas + 1 while an update runs = 7   (MCP_CORP_REPLICAS=7)');
    expect(out).toContain('200 connections - 15 reserved - 0 of others = 185 usable');
    expect(out).toContain('7 × pool 10 = 70: fits');
    expect(out).toContain('7 × concurrency 10 = 70 of 80: fits');
    expect(out).toContain('at most 1200 database operations per second');
    expect(out.endsWith('result        fits\n')).toBe(true);
  });

  it('ends with 1 and says what helps when it is too much', () => {
    const { code, out } = ask('--replicas', '20');
    expect(code).toBe(CAPACITY.tooMuch);
    expect(out).toContain('21 × pool 10 = 210: TOO MUCH');
    expect(out).toContain('with pool 10 at most 7 replicas; for 20 replicas a pool of at most 4');
    expect(out).toContain('PgBouncer');
  });

  it('prints one JSON object when asked to', () => {
    expect(JSON.parse(ask('--json').out)).toMatchObject({
      question: { replicas: 3, concurrency: 10 },
      answer: { atOnce: 4, fits: true, database: { used: 40, usable: 85 } },
    });
  });

  it.each([['--replicas', '0'], ['--pool', '1.5'], ['--others', '-1'], ['--max-connections', '99999999'], ['--what']])(
    'refuses %s %s',
    (...args) => {
      expect(() => ask(...args)).toThrow(CommanderError);
    },
  );

  it('refuses a concurrency that the server would refuse', () => {
    expect(ask('--pool', '5', '--concurrency', '6')).toMatchObject({ code: CAPACITY.tooMuch, out: '' });
  });
});
