// @ts-check
import { ascending, percentile } from '../load/accounting.mjs';
import { CUSTOMER, askAll, closeAll, openSessions, outcomes } from './callers.mjs';
import { Replica } from './replica.mjs';

const LIMIT = 2;
const CLIENTS = 20;
/**
 * In CI other tests have the processors too. Others' work can only make a refusal later, so the best of three
 * measurements is the nearest to the server's own; each has few callers, and the process has been compiled.
 */
const CI = { clients: 6, rounds: 3 };
const ACQUIRE_MS = 50;
/** Issue 3, on any machine: what a refusal may take beyond its timeout. */
const LATE_MS = 100;

/** Who cannot wait is told so in time, and the source is not to blame. @param {import('./results.mjs').Stage} stage */
export async function refusing({ children, database, short, ci }) {
  await database.serviceTime(100);
  const replica = await Replica.ready(children, {
    ...database.env,
    MCP_CORP_POSTGRES__MAX_POOL_SIZE: String(LIMIT),
    MCP_CORP_POSTGRES__MAX_CONCURRENCY: String(LIMIT),
    MCP_CORP_POSTGRES__ACQUIRE_TIMEOUT_SECONDS: String(ACQUIRE_MS / 1000),
  });
  const sessions = await openSessions([replica.mcp], ci ? CI.clients : CLIENTS);
  const each = short ? 30 : 100;
  if (ci) await askAll(sessions, CUSTOMER, 3);
  /** @type {import('./callers.mjs').Told[][]} */
  const rounds = [];
  while (rounds.length < (ci ? CI.rounds : 1)) rounds.push(await askAll(sessions, CUSTOMER, each));
  const { circuit_state: circuit } = await replica.source('postgres');
  await closeAll(sessions);
  await replica.stop();

  const told = rounds.flat();
  const refusals = (/** @type {import('./callers.mjs').Told[]} */ of) =>
    of.filter(({ outcome }) => outcome === 'saturated').map(({ ms }) => ms);
  const refused = refusals(told);
  const p99 = Math.min(...rounds.map((round) => percentile(ascending(refusals(round)), 0.99)));
  const onlySaturated = told.every(({ outcome }) => outcome === 'ok' || outcome === 'saturated');
  const both = refused.length > 0 && refused.length < told.length;
  return {
    figure: `${outcomes(told)}; circuit ${circuit}; p99 of a refusal ${p99.toFixed(0)} ms`,
    limit: `some ok, the rest saturated; closed; p99 ≤ ${ACQUIRE_MS} + ${LATE_MS} ms`,
    pass: both && onlySaturated && circuit === 'closed' && p99 <= ACQUIRE_MS + LATE_MS,
  };
}
