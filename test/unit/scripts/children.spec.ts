import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { until } from '../../support/until.js';

const script = new URL('../../../scripts/verify-load/children.mjs', import.meta.url).href;

const runs = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
};

describe('the processes of verify:load', () => {
  it.each([
    ['is killed', 'process.kill(process.pid, "SIGKILL")'],
    ['crashes', 'throw new Error("crash")'],
    ['ends without ending them', 'process.exit(0)'],
    ['closes', 'await children.close()'],
  ])('are gone when their owner %s', async (_how, then) => {
    const program = `
      const { Children } = await import(${JSON.stringify(script)});
      const children = new Children();
      const [one, other] = [60, 61].map((seconds) => children.start('sleep', [String(seconds)], { PATH: process.env.PATH }));
      process.stdout.write(JSON.stringify([children.guard.pid, one.pid, other.pid]) + '\\n');
      ${then}`;
    const owner = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const [line] = (await once(owner.stdout, 'data')) as [Buffer];
    const pids = JSON.parse(line.toString()) as number[];
    expect(pids).toHaveLength(3);
    await until(() => pids.every((pid) => !runs(pid)));
  });
});
