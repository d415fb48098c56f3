import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const BIN = fileURLToPath(new URL('../node_modules/.bin/', import.meta.url));

/** A home of its own: these programs keep files there. */
export const home = mkdtempSync(join(tmpdir(), 'mcp-client-'));
process.on('exit', () => rmSync(home, { recursive: true, force: true }));

/** What a program of this package printed. @param {string} program @param {readonly string[]} options */
export function printed(program, options) {
  const env = { PATH: `${process.execPath.replace(/\/[^/]+$/, '')}:${process.env['PATH']}`, HOME: home, NO_COLOR: '1' };
  const { status, stdout, stderr } = spawnSync(join(BIN, program), options, { cwd: home, env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} ${options.join(' ')} ended with ${status}: ${stdout}${stderr}`);
  return stdout;
}
