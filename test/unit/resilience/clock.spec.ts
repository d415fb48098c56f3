import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { systemClock } from '../../../src/resilience/clock.js';

const CLOCK = new URL('../../../src/resilience/clock.ts', import.meta.url).href;

describe('the clock of the system', () => {
  it('runs what is due already at once, without a warning of Node', async () => {
    // A process of its own: Node's warnings do not reach a test.
    const program = `const { systemClock } = await import(${JSON.stringify(CLOCK)}); systemClock.after(-5, () => console.log('ran'));`;
    const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', program];
    expect(await promisify(execFile)(process.execPath, flags)).toEqual({ stdout: 'ran\n', stderr: '' });
  });

  it('takes an appointment back', async () => {
    let kept = 0;
    systemClock.after(0, () => (kept += 1))();
    await new Promise<void>((resolve) => systemClock.after(5, resolve));
    expect(kept).toBe(0);
  });
});
