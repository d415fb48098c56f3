// @ts-check
import { startSaldoStub } from '../../deploy/dev/saldo-api-stub.mjs';
import { ascending, percentile } from '../load/accounting.mjs';
import { SUMMARY, ask, openSessions } from './callers.mjs';
import { get, until } from './loopback.mjs';
import { Replica } from './replica.mjs';

const PROBES = 1_000;
const SLOTS = 3;
/** Twice as many as there are slots: the queues are in use too. */
const CLIENTS = 2 * SLOTS;
const FOR_EVER_MS = 600_000;
const SOURCES = ['postgres', 'saldo_api'];

/** The replica is ready whatever its sources do. @param {import('./results.mjs').Stage} stage */
export async function ready({ children, database, ci }) {
  await database.serviceTime(FOR_EVER_MS);
  const stub = await startSaldoStub();
  stub.setFault({ kind: 'silence' });
  const patient = (/** @type {string} */ section) => ({
    [`MCP_CORP_${section}__MAX_CONCURRENCY`]: String(SLOTS),
    [`MCP_CORP_${section}__ACQUIRE_TIMEOUT_SECONDS`]: '120',
    [`MCP_CORP_${section}__OPERATION_TIMEOUT_SECONDS`]: '120',
    [`MCP_CORP_${section}__CANCEL_GRACE_SECONDS`]: '0.5',
  });
  const replica = await Replica.ready(children, {
    ...database.env,
    ...patient('POSTGRES'),
    MCP_CORP_POSTGRES__MAX_POOL_SIZE: String(SLOTS),
    MCP_CORP_SALDO_API__ENABLED: 'true',
    MCP_CORP_SALDO_API__BASE_URL: stub.url,
    MCP_CORP_SALDO_API__REQUEST_TIMEOUT_SECONDS: '120',
    ...patient('SALDO_API'),
  });
  const sessions = await openSessions([replica.mcp], CLIENTS);
  const calls = sessions.map((session) => ask(session, SUMMARY));
  const taken = async () => {
    const states = await Promise.all(SOURCES.map((source) => replica.source(source)));
    return states.every(({ in_flight, max_concurrency }) => in_flight === max_concurrency);
  };
  await until('every slot is taken', taken);

  /** @type {number[]} */
  const times = [];
  let answered = 0;
  while (times.length < PROBES) {
    const start = performance.now();
    if ((await get(`${replica.url}/ready`)).status === 200) answered += 1;
    times.push(performance.now() - start);
  }
  const stillTaken = await taken();

  for (const session of sessions) session.destroy();
  await Promise.all(calls);
  await replica.stop();
  await stub.close();
  await database.serviceTime(0);
  const p99 = percentile(ascending(times), 0.99);
  const limitMs = ci ? 250 : 50;
  return {
    figure: `${answered}/${PROBES} ready; p99 ${p99.toFixed(1)} ms; ${stillTaken ? 'every slot' : 'NOT every slot'} taken`,
    limit: `${PROBES}/${PROBES}; p99 < ${limitMs} ms; every slot of both sources`,
    pass: answered === PROBES && p99 < limitMs && stillTaken,
  };
}
