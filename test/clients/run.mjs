// `npm run test:clients`: installs the clients when they are missing, and walks each of them against the built server. Node 24 is the one on PATH.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = fileURLToPath(new URL('../../', import.meta.url));

/** @param {string} command @param {readonly string[]} options @param {string} cwd */
function step(command, options, cwd) {
  const { status } = spawnSync(command, options, { cwd, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

if (!existsSync(`${here}node_modules`)) step('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], here);
const jest = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js'];
step(process.execPath, [...jest, '--config', 'test/clients/jest.config.mjs', ...process.argv.slice(2)], root);
