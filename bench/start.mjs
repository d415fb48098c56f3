// @ts-check
/** From spawning a process to its first `/ready` 200: the product with both real sources, and a bare NestJS application. */
import { setTimeout as delay } from 'node:timers/promises';
import { ask } from './calls.mjs';
import { MeasuredProcess, freePort } from './measured-process.mjs';

const LIMIT_MS = 60_000;
const READY = 'GET /ready HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';

/** @param {(port: string) => string[]} command @param {Readonly<Record<string, string>>} [env] */
async function startOnce(command, env = {}) {
  const port = await freePort();
  const begun = performance.now();
  const started = new MeasuredProcess(command(String(port)), { ...env, MCP_CORP_PORT: String(port) });
  try {
    while (!(await ask(port, READY)).startsWith('HTTP/1.1 200')) {
      if (performance.now() - begun > LIMIT_MS) throw new Error(`not ready: ${started.errors}`);
      await delay(2);
    }
    return performance.now() - begun;
  } finally {
    await started.end();
  }
}

/** @param {number} pairs @param {Readonly<Record<string, string>>} productEnv @returns milliseconds, pair by pair */
export async function measureStarts(pairs, productEnv) {
  /** @type {{ product: number[], bare: number[] }} */
  const figures = { product: [], bare: [] };
  // The first pair fills the file cache.
  for (let pair = -1; pair < pairs; pair++) {
    const bare = await startOnce((port) => ['servers/bare-nest.mjs', port]);
    const product = await startOnce(() => ['../dist/main.js'], productEnv);
    if (pair < 0) continue;
    figures.bare.push(bare);
    figures.product.push(product);
  }
  return figures;
}
