// @ts-check
import { ascending, percentile } from '../load/accounting.mjs';
import { CUSTOMER, askAll, closeAll, openSessions, outcomes } from './callers.mjs';
import { Replica } from './replica.mjs';

const LIMIT = 2;
const CLIENTS = 20;
const ACQUIRE_MS = 50;
/** Issue 3, on any machine: what a refusal may take beyond its timeout. */
const LATE_MS = 100;

/** Who cannot wait is told so in time, and the source is not to blame. @param {import('./results.mjs').Stage} stage */
export async function refusing({ children, database, short }) {
  await database.serviceTime(100);
  const replica = await Replica.ready(children, {
    ...database.env,
    MCP_CORP_POSTGRES__MAX_POOL_SIZE: String(LIMIT),
    MCP_CORP_POSTGRES__MAX_CONCURRENCY: String(LIMIT),
    MCP_CORP_POSTGRES__ACQUIRE_TIMEOUT_SECONDS: String(ACQUIRE_MS / 1000),
  });
  const sessions = await openSessions([replica.mcp], CLIENTS);
  const told = await askAll(sessions, CUSTOMER, short ? 10 : 100);
  const { circuit_state: circuit } = await replica.source('postgres');
  await closeAll(sessions);
  await replica.stop();

  const refused = told.filter(({ outcome }) => outcome === 'saturated');
  const p99 = percentile(ascending(refused.map(({ ms }) => ms)), 0.99);
  const onlySaturated = told.every(({ outcome }) => outcome === 'ok' || outcome === 'saturated');
  const both = refused.length > 0 && refused.length < told.length;
  return {
    figure: `${outcomes(told)}; circuit ${circuit}; p99 of a refusal ${p99.toFixed(0)} ms`,
    limit: `some ok, the rest saturated; closed; p99 ≤ ${ACQUIRE_MS} + ${LATE_MS} ms`,
    pass: both && onlySaturated && circuit === 'closed' && p99 <= ACQUIRE_MS + LATE_MS,
  };
}
