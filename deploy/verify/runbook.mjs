// @ts-check
/** The runbook's own commands: what is documented is what is run. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './build-image.mjs';
import { run } from './commands.mjs';

/** @typedef {{ info: string, text: string }} Block */

/** The shell blocks of a document, in order; `info` is what follows `sh`. @param {string} file @returns {Block[]} */
export function blocksOf(file) {
  const text = readFileSync(path.join(ROOT, file), 'utf8');
  return [...text.matchAll(/^```sh(?: (.*))?\n([\s\S]*?)^```$/gm)].map(([, info = '', body = '']) => ({
    info,
    text: body,
  }));
}

/** @param {string} id of `run=…` */
export function runbookBlock(id) {
  const found = blocksOf('deploy/README.md').find(({ info }) => info === `run=${id}`);
  if (found === undefined) throw new Error(`the runbook has no block run=${id}`);
  return found.text;
}

/**
 * Runs a block as it stands, in the repository's root. What it prints is returned.
 *
 * @param {import('./engine.mjs').Engine} engine
 * @param {string} id
 * @param {Record<string, string>} [env]
 */
export function runBlock(engine, id, env = {}) {
  return run('bash', ['-euo', 'pipefail', '-c', runbookBlock(id)], {
    env: { ...engine.env, ...env },
    cwd: ROOT,
    timeoutMs: 480_000,
  });
}
