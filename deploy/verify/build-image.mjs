// @ts-check
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { fromJson } from './commands.mjs';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const manifest = /** @type {{ version: string }} */ (fromJson(readFileSync(path.join(ROOT, 'package.json'), 'utf8')));
export const VERSION = manifest.version;

/**
 * The image of this repository, as the Dockerfile makes it.
 *
 * @param {import('./engine.mjs').Engine} engine
 * @param {string} tag
 * @param {string} revision
 */
export async function buildImage(engine, tag, revision) {
  const args = [`VERSION=${VERSION}`, `REVISION=${revision}`].flatMap((each) => ['--build-arg', each]);
  // The host's network: it is the one that can reach the registry.
  await engine.docker(['build', '--network', 'host', '--progress', 'plain', ...args, '-t', tag, ROOT], {
    timeoutMs: 480_000,
  });
}
