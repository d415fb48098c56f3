// @ts-check
/** Callers that load a replica, and what they were told. */
import { ERAS, openSession } from '../load/mcp-session.mjs';

/** Key of the machine-readable side of a tool's error. */
const ERROR_META = 'mcp-corp/error';

/** @typedef {import('../load/mcp-session.mjs').Session} Session */

/**
 * @typedef {object} Told
 * @property {number} ms
 * @property {string} outcome `ok`, the code of the tool's error, or what went wrong on the way.
 */

export const CUSTOMER = 'consultar_cliente';
export const BALANCE = 'consultar_saldo';
export const SUMMARY = 'resumen_cliente';

/** Sessions spread over the endpoints, every second one in the other era. @param {readonly string[]} endpoints @param {number} count */
export function openSessions(endpoints, count) {
  return Promise.all(
    Array.from({ length: count }, (_, index) => {
      const endpoint = endpoints[index % endpoints.length] ?? '';
      return openSession(endpoint, {
        era: ERAS[Math.floor(index / endpoints.length) % ERAS.length],
        timeoutMs: 60_000,
      });
    }),
  );
}

/** One call. Never rejects. @param {Session} session @param {string} tool @returns {Promise<Told>} */
export async function ask(session, tool) {
  const start = performance.now();
  const outcome = await session.call(tool, { identificador: 'V16760320' }).then(
    ({ isError, _meta }) => (isError === true ? codeOf(_meta) : 'ok'),
    (/** @type {Error} */ error) => error.message,
  );
  return { ms: performance.now() - start, outcome };
}

/** Every session calls `each` times, one after the other. @param {readonly Session[]} sessions @param {string} tool @param {number} each */
export async function askAll(sessions, tool, each) {
  const told = await Promise.all(
    sessions.map(async (session) => {
      /** @type {Told[]} */
      const own = [];
      while (own.length < each) own.push(await ask(session, tool));
      return own;
    }),
  );
  return told.flat();
}

/** @param {readonly Session[]} sessions */
export async function closeAll(sessions) {
  await Promise.all(sessions.map((session) => session.close()));
}

/** `48 ok, 12 saturated`. @param {readonly Told[]} told */
export function outcomes(told) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { outcome } of told) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  return [...counts].map(([outcome, count]) => `${count} ${outcome}`).join(', ');
}

/** @param {Readonly<Record<string, unknown>> | undefined} meta */
function codeOf(meta) {
  const error = /** @type {{ code?: unknown } | undefined} */ (meta?.[ERROR_META]);
  return typeof error?.code === 'string' ? error.code : 'isError';
}
