// @ts-check
import { startSaldoStub } from '../../deploy/dev/saldo-api-stub.mjs';
import { BALANCE, ask, askAll, closeAll, openSessions, outcomes } from './callers.mjs';
import { until } from './loopback.mjs';
import { Replica } from './replica.mjs';

const THRESHOLD = 3;
const SUCCESSES = 2;
const CROWD = 20;
const SOURCE = 'saldo_api';

/**
 * A circuit belongs to one replica, and half-open lets one call through, however many come. It is opened by timeouts,
 * because such a circuit is healed by calls only (law 7): no background probe comes between.
 *
 * @param {import('./results.mjs').Stage} stage
 */
export async function breaker({ children }) {
  const stub = await startSaldoStub();
  const env = {
    MCP_CORP_SALDO_API__ENABLED: 'true',
    MCP_CORP_SALDO_API__BASE_URL: stub.url,
    MCP_CORP_SALDO_API__OPERATION_TIMEOUT_SECONDS: '2',
    MCP_CORP_SALDO_API__CANCEL_GRACE_SECONDS: '0.2',
    MCP_CORP_SALDO_API__CIRCUIT_FAILURE_THRESHOLD: String(THRESHOLD),
    MCP_CORP_SALDO_API__CIRCUIT_RESET_TIMEOUT_SECONDS: '3',
    MCP_CORP_SALDO_API__CIRCUIT_SUCCESS_THRESHOLD: String(SUCCESSES),
  };
  const [a, b] = await Promise.all([Replica.ready(children, env), Replica.ready(children, env)]);
  const [crowd, others] = await Promise.all([openSessions([a.mcp], CROWD), openSessions([b.mcp], 1)]);
  const asked = () => stub.requests.filter(({ path }) => path.startsWith('/saldos/')).length;

  stub.setFault({ kind: 'silence' });
  await askAll(crowd.slice(0, THRESHOLD), BALANCE, 1);
  stub.setFault(undefined);
  const apart = {
    a: (await a.source(SOURCE)).circuit_state,
    b: (await b.source(SOURCE)).circuit_state,
    refused: (await askAll(crowd.slice(0, 1), BALANCE, 1))[0]?.outcome,
    served: (await askAll(others, BALANCE, 1))[0]?.outcome,
  };

  await until('the circuit is half-open', async () => (await a.source(SOURCE)).circuit_state === 'half_open');
  // Long enough for the whole crowd to come while one is being served.
  stub.setFault({ kind: 'latency', ms: 1_000 });
  /** @type {number[]} */
  const probes = [];
  /** @type {import('./callers.mjs').Told[]} */
  const told = [];
  for (let round = 0; round < SUCCESSES; round += 1) {
    const before = asked();
    told.push(...(await Promise.all(crowd.map((session) => ask(session, BALANCE)))));
    probes.push(asked() - before);
  }
  const healed = (await a.source(SOURCE)).circuit_state;

  await Promise.all([closeAll(crowd), closeAll(others)]);
  await Promise.all([a.stop(), b.stop()]);
  await stub.close();
  const independent =
    apart.a === 'open' && apart.b === 'closed' && apart.refused === 'circuit_open' && apart.served === 'ok';
  const ok = told.filter(({ outcome }) => outcome === 'ok').length;
  const refused = told.filter(({ outcome }) => outcome === 'circuit_open').length;
  return {
    figure: `A ${apart.a}, B ${apart.b}; half-open: ${probes.join(' + ')} probes of ${told.length} calls (${outcomes(told)}); then ${healed}`,
    limit: `A open, B closed and serving; 1 probe at a time; then closed`,
    pass:
      independent &&
      probes.every((count) => count === 1) &&
      ok === SUCCESSES &&
      refused === told.length - SUCCESSES &&
      healed === 'closed',
  };
}
