// @ts-check
/**
 * N callers at once, each with one session, each calling one after the other. A session that cannot be opened, or that
 * breaks, costs its own request and is opened anew for the next one: the other callers notice nothing (defect H5).
 */
import { openSession, toolFailure } from './mcp-session.mjs';

/**
 * @typedef {object} Load
 * @property {string} url
 * @property {string} tool
 * @property {string} identificador
 * @property {number} concurrency Sessions.
 * @property {number} requestsPerWorker
 * @property {import('./mcp-session.mjs').Era} [era]
 * @property {number} [timeoutMs] Longest wait for one answer.
 */

/** @param {Load} load @returns {Promise<import('./accounting.mjs').Run>} */
export async function runLoad(load) {
  const { url, tool, concurrency } = load;
  const start = performance.now();
  const attempts = (await Promise.all(Array.from({ length: concurrency }, () => work(load)))).flat();
  return { url, tool, concurrency, elapsedMs: performance.now() - start, attempts };
}

/** @param {Load} load */
async function work({ url, tool, identificador, requestsPerWorker, era, timeoutMs }) {
  /** @type {import('./accounting.mjs').Attempt[]} */
  const attempts = [];
  /** @type {import('./mcp-session.mjs').Session | undefined} */
  let session;
  while (attempts.length < requestsPerWorker) {
    let start = performance.now();
    /** @type {string | undefined} */
    let failure;
    try {
      session ??= await openSession(url, { era, timeoutMs });
      start = performance.now();
      failure = toolFailure(await session.call(tool, { identificador }));
    } catch (error) {
      failure = messageOf(error);
      session?.destroy();
      session = undefined;
    }
    attempts.push({ ms: performance.now() - start, failure });
  }
  await session?.close();
  return attempts;
}

/** @param {unknown} error */
function messageOf(error) {
  if (!(error instanceof Error)) return String(error);
  // Node's error for a host with several addresses has a code and no text.
  return error.message || ('code' in error ? String(error.code) : error.name);
}
