import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const SCRIPT = fileURLToPath(new URL('../../scripts/verify-load.mjs', import.meta.url));

interface Row {
  readonly name: string;
  readonly figure: string;
  readonly limit: string;
  readonly pass: boolean;
}

async function verifyLoad(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [SCRIPT, ...args], {
    // Inside a test run the machine does other things too.
    env: { PATH: process.env['PATH'], CI: 'true' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}

describe('npm run verify:load', () => {
  it('shows the six results of the reference, and ends with 0', async () => {
    const { code, stdout, stderr } = await verifyLoad('--short', '--json');
    expect(stderr).toBe('capacity …\nwaiting …\nrefusing …\nready …\nbreaker …\nstop …\n');
    const rows = JSON.parse(stdout) as Row[];
    expect(rows.map(({ name }) => name)).toEqual(['capacity', 'waiting', 'refusing', 'ready', 'breaker', 'stop']);
    // The figures are in the message of a failure.
    expect(rows.filter(({ pass }) => !pass)).toEqual([]);
    expect(code).toBe(0);
  }, 300_000);

  it('ends with 2 and its usage on options that it does not know', async () => {
    for (const args of [['--only', 'nada'], ['--balancer', 'x'], ['--largo']]) {
      const { code, stdout, stderr } = await verifyLoad(...args);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toContain('npm run verify:load');
    }
  });
});

describe('the table', () => {
  it('has one row for each result and says what failed', async () => {
    const { table } = await import('../../scripts/verify-load/results.mjs');
    const rows = [
      { name: 'capacity', figure: 'at most 10 backends', limit: '9, never more', pass: false },
      { name: 'stop', figure: '0 failed', limit: '0 failed', pass: true },
    ];
    expect(table(rows).split('\n')).toEqual([
      '| result   | figure              | limit         |      |',
      '|----------|---------------------|---------------|------|',
      '| capacity | at most 10 backends | 9, never more | FAIL |',
      '| stop     | 0 failed            | 0 failed      | pass |',
      '',
    ]);
  });
});
