// @ts-check
import { freePort } from '../free-port.mjs';
import { startBalancer } from './balancer.mjs';
import { CUSTOMER } from './callers.mjs';
import { until } from './loopback.mjs';
import { Replica, WITH_STREAMS } from './replica.mjs';
import { Tally, connectV1, connectV2, keepCalling, keepListening } from './sdk-clients.mjs';

const REPLICAS = 3;
const LISTENERS = 6;
/** `clients` of each generation. The service time is long enough that a replica always stops with calls in flight. */
const LONG = { enough: 5_000, clients: 6, serviceMs: 25, drainSeconds: '2' };
const SHORT = { enough: 600, clients: 3, serviceMs: 50, drainSeconds: '0.8' };

/** A rolling restart that nobody notices. @param {import('./results.mjs').Stage} stage */
export async function stop({ children, database, short, balancer: kind }) {
  const { enough, clients, serviceMs, drainSeconds } = short ? SHORT : LONG;
  await database.serviceTime(serviceMs);
  const env = { ...database.env, MCP_CORP_DRAIN_SECONDS: drainSeconds };
  const records = { started: 0, completed: 0 };
  const start = (/** @type {number} */ port) =>
    Replica.ready(children, env, {
      port,
      script: WITH_STREAMS,
      onLine: ({ message }) => {
        if (message === 'tool_invocation_started') records.started += 1;
        if (message === 'tool_invocation_completed') records.completed += 1;
      },
    });

  const ports = await Promise.all(Array.from({ length: REPLICAS }, () => freePort()));
  const replicas = await Promise.all(ports.map(start));
  const balancer = await startBalancer(kind, children, ports);
  const endpoint = `${balancer.url}/mcp`;
  const allUp = async () => (await Promise.all(ports.map((port) => balancer.isUp(port)))).every(Boolean);
  await until('the balancer uses every replica', allUp);

  let working = true;
  const wanted = () => working;
  const tally = new Tally();
  const streams = { graceful: 0, cut: 0, refused: 0, open: 0 };
  const v1 = await Promise.all(Array.from({ length: clients }, () => connectV1(endpoint)));
  const v2 = await Promise.all(Array.from({ length: clients }, () => connectV2(endpoint)));
  const ears = await Promise.all(Array.from({ length: LISTENERS }, () => connectV2(endpoint)));
  const listening = Promise.all(ears.map((client) => keepListening(client, streams, wanted)));
  const calling = Promise.all([...v1, ...v2].map((client) => keepCalling(client, CUSTOMER, tally, wanted)));
  await until('every stream is open', () => streams.open === LISTENERS);

  /** @type {(number | null)[]} */
  const exits = [];
  do {
    for (const [index, port] of ports.entries()) {
      exits.push((await replicas[index]?.stop()) ?? null);
      replicas[index] = await start(port);
      await until('the balancer uses the new replica', () => balancer.isUp(port));
    }
  } while (tally.calls < enough);
  await until('every stream is open again', () => streams.open === LISTENERS);
  working = false;
  await calling;
  exits.push(...(await Promise.all(replicas.map((replica) => replica.stop()))));
  await listening;
  await balancer.close();

  const inOrder = exits.every((code) => code === 0);
  const recorded = records.started === tally.calls && records.completed === tally.calls;
  const failures = `${tally.failed} failed${tally.example === undefined ? '' : ` (${tally.example})`}`;
  return {
    figure:
      `${tally.calls} calls, ${failures}, ${records.completed} audited; ${exits.length} stops ${inOrder ? 'in order' : 'NOT in order'}; ` +
      `streams: ${streams.graceful} ended with their result, ${streams.cut} cut, ${streams.refused} refused (${kind})`,
    limit: `≥ ${enough} calls, 0 failed, each audited; exit 0; 0 streams cut or refused`,
    pass:
      tally.calls >= enough &&
      tally.failed === 0 &&
      recorded &&
      inOrder &&
      streams.graceful >= LISTENERS &&
      streams.cut + streams.refused === 0,
  };
}
