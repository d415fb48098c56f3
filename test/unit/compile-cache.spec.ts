import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { keepCompiled } from '../../src/compile-cache.js';

const folder = mkdtempSync(join(tmpdir(), 'compile-cache-'));
afterAll(() => rmSync(folder, { recursive: true }));

const MODULE = new URL('../../dist/compile-cache.js', import.meta.url).href;

function start(cache: string, env: Record<string, string> = {}): string {
  const program = `
    const { keepCompiled } = await import(${JSON.stringify(MODULE)});
    process.stdout.write(keepCompiled(${JSON.stringify(cache)}));
    await import('node:fs');
    await import(${JSON.stringify(new URL('../../dist/stop-signal.js', import.meta.url).href)});`;
  return execFileSync(process.execPath, ['--input-type=module', '-e', program], { env, encoding: 'utf8' });
}

describe('the compiled code of a start', () => {
  it('is kept in the folder that it is given', () => {
    expect(start(folder)).toBe('enabled');
    expect(readdirSync(folder, { recursive: true }).length).toBeGreaterThan(1);
  });

  it('is done without, and says so, where nothing can be written', () => {
    // No folder can be made under a file, not even by root.
    expect(keepCompiled(join(process.execPath, 'x'))).toBe('unavailable');
  });

  it('is left alone when Node is told to', () => {
    expect(start(folder, { NODE_DISABLE_COMPILE_CACHE: '1' })).toBe('disabled');
  });
});
