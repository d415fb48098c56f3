// @ts-check
/**
 * Loaded into the server that is soaked (`node --expose-gc --import`): tells, over the channel to its parent, what the
 * process holds after a forced collection. No part of the product.
 */
import { setImmediate as turn } from 'node:timers/promises';

/**
 * @typedef {object} Holdings
 * @property {number} heap Bytes that are reachable.
 * @property {number} rss Bytes.
 * @property {NodeJS.MemoryUsage} memory The same with its parts, to explain it.
 * @property {Record<string, number>} handles How many of each kind keep the process alive.
 * @property {number} listeners On the process and on everything in `handles`.
 */

/** One collection leaves what only finalisers held. */
const COLLECTIONS = 6;

/** @returns {Promise<Holdings>} */
async function holdings() {
  for (let index = 0; index < COLLECTIONS; index += 1) {
    globalThis.gc?.();
    await turn();
  }
  const memory = process.memoryUsage();
  const { heapUsed: heap, rss } = memory;
  /** @type {Record<string, number>} */
  const handles = {};
  for (const name of process.getActiveResourcesInfo()) handles[name] = (handles[name] ?? 0) + 1;
  return { heap, rss, memory, handles, listeners: emitters().reduce((sum, emitter) => sum + listenersOf(emitter), 0) };
}

/** @returns {import('node:events').EventEmitter[]} */
function emitters() {
  // Undocumented, and the only way to the listeners of sockets that are not ours.
  const internals = /** @type {{ _getActiveHandles(): unknown[] }} */ (/** @type {unknown} */ (process));
  const held = /** @type {import('node:events').EventEmitter[]} */ (internals._getActiveHandles());
  return [process, ...held.filter((handle) => typeof handle.eventNames === 'function')];
}

/** @param {import('node:events').EventEmitter} emitter */
const listenersOf = (emitter) => emitter.eventNames().reduce((sum, name) => sum + emitter.listenerCount(name), 0);

process.on('message', () => void holdings().then((held) => process.send?.(held)));
process.on('disconnect', () => process.exit(1));
