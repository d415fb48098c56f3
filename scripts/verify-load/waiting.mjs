// @ts-check
import { ascending, percentile } from '../load/accounting.mjs';
import { CUSTOMER, askAll, closeAll, openSessions, outcomes } from './callers.mjs';
import { Replica } from './replica.mjs';

const LIMIT = 2;
const CLIENTS = 20;
const SERVICE_MS = 250;
const TOLERANCE = 1.2;

/** Who waits is served, in turn, and no later than the arithmetic says. @param {import('./results.mjs').Stage} stage */
export async function waiting({ children, database, short }) {
  await database.serviceTime(SERVICE_MS);
  const order = new Turns();
  const replica = await Replica.ready(
    children,
    {
      ...database.env,
      MCP_CORP_POSTGRES__MAX_POOL_SIZE: String(LIMIT),
      MCP_CORP_POSTGRES__MAX_CONCURRENCY: String(LIMIT),
      MCP_CORP_POSTGRES__ACQUIRE_TIMEOUT_SECONDS: '3',
    },
    { onLine: (line) => order.note(line) },
  );
  const sessions = await openSessions([replica.mcp], CLIENTS);
  const told = await askAll(sessions, CUSTOMER, short ? 3 : 10);
  await closeAll(sessions);
  await replica.stop();

  const p95 = percentile(ascending(told.map(({ ms }) => ms)), 0.95);
  const longest = (TOLERANCE * CLIENTS * SERVICE_MS) / LIMIT;
  const overtaken = order.mostOvertaken();
  return {
    figure: `${outcomes(told)}; p95 ${p95.toFixed(0)} ms; overtaken by at most ${overtaken}`,
    limit: `all ok; p95 ≤ ${longest.toFixed(0)} ms; by the other slot (${LIMIT - 1}) at most`,
    // Two that are served at once may end in either order; a third would have jumped the queue.
    pass: told.every(({ outcome }) => outcome === 'ok') && p95 <= longest && overtaken <= LIMIT - 1,
  };
}

/** In which order calls came and were answered, as the audit of the replica tells. */
class Turns {
  /** @type {unknown[]} */
  #came = [];
  /** @type {unknown[]} */
  #answered = [];

  /** @param {import('./replica.mjs').LogLine} line */
  note({ message, correlation_id: call }) {
    if (message === 'tool_invocation_started') this.#came.push(call);
    if (message === 'tool_invocation_completed') this.#answered.push(call);
  }

  /** The largest number of calls that came after one and were answered before it; infinite when the audit has a gap. */
  mostOvertaken() {
    const turn = new Map(this.#came.map((call, index) => [call, index]));
    const turns = this.#answered.map((call) => turn.get(call) ?? Number.NaN);
    if (turns.length !== this.#came.length || turns.some(Number.isNaN)) return Number.POSITIVE_INFINITY;
    return Math.max(0, ...turns.map((own, place) => turns.slice(0, place).filter((other) => other > own).length));
  }
}
