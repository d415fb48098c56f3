// @ts-check
import { setTimeout as delay } from 'node:timers/promises';
import { CUSTOMER, askAll, closeAll, openSessions, outcomes } from './callers.mjs';
import { Replica } from './replica.mjs';

const REPLICAS = 3;
const POOL = 3;
const CLIENTS = 30;
const SERVICE_MS = 50;
const SAMPLE_MS = 50;

/** 3 replicas × pool 3: the database never sees a tenth session. @param {import('./results.mjs').Stage} stage */
export async function capacity({ children, database, short }) {
  await database.serviceTime(SERVICE_MS);
  const env = {
    ...database.env,
    MCP_CORP_POSTGRES__MAX_POOL_SIZE: String(POOL),
    MCP_CORP_POSTGRES__MAX_CONCURRENCY: String(POOL),
    MCP_CORP_POSTGRES__ACQUIRE_TIMEOUT_SECONDS: '10',
  };
  const replicas = await Promise.all(Array.from({ length: REPLICAS }, () => Replica.ready(children, env)));
  const sessions = await openSessions(
    replicas.map(({ mcp }) => mcp),
    CLIENTS,
  );

  let loading = true;
  const sampled = sample(database, () => loading);
  const told = await askAll(sessions, CUSTOMER, short ? 10 : 60);
  loading = false;
  const { samples, most } = await sampled;

  await closeAll(sessions);
  await Promise.all(replicas.map((replica) => replica.stop()));
  return {
    figure: `at most ${most} backends in ${samples} samples; ${outcomes(told)}`,
    limit: `${REPLICAS * POOL}, never more; every call answered`,
    pass: most === REPLICAS * POOL && told.every(({ outcome }) => outcome === 'ok'),
  };
}

/** @param {import('./slow-database.mjs').SlowDatabase} database @param {() => boolean} wanted */
async function sample(database, wanted) {
  let samples = 0;
  let most = 0;
  for (let next = performance.now(); wanted(); next += SAMPLE_MS) {
    most = Math.max(most, await database.backends());
    samples += 1;
    await delay(Math.max(0, next + SAMPLE_MS - performance.now()));
  }
  return { samples, most };
}
