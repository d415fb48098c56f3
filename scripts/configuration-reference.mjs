#!/usr/bin/env node
// Writes docs/configuration.md and .env.example from the built section classes; `--check` writes nothing and exits 1
// when one of them is stale. Needs dist/ (`npm run build`).
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** @param {string} path of the built module */
const built = (path) => /** @type {Promise<unknown>} */ (import(new URL(`../dist/${path}`, import.meta.url).href));

/** @typedef {{ SECTIONS: readonly import('../src/config/section.js').SectionClass[] }} AppModule */
/** @typedef {typeof import('../src/config/reference.js')} Reference */

const { SECTIONS } = /** @type {AppModule} */ (await built('app.module.js'));
const { configurationMarkdown, environmentExample } = /** @type {Reference} */ (await built('config/reference.js'));

const files = new Map([
  ['docs/configuration.md', configurationMarkdown(SECTIONS)],
  ['.env.example', environmentExample(SECTIONS)],
]);

/** @param {string} path */
function current(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return undefined;
    throw error;
  }
}

const stale = [...files].filter(([name, text]) => current(join(root, name)) !== text);
const check = process.argv.includes('--check');

for (const [name, text] of stale) {
  if (check) {
    console.error(`${name} is stale: run npm run build && node scripts/configuration-reference.mjs`);
    continue;
  }
  mkdirSync(dirname(join(root, name)), { recursive: true });
  writeFileSync(join(root, name), text);
  console.log(`${name} written`);
}
if (check && stale.length > 0) process.exitCode = 1;
