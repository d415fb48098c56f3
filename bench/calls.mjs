// @ts-check
/** CPU and rate of calls over HTTP: every server a process of its own, one of them under load at a time. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { MeasuredProcess, freePort } from './measured-process.mjs';
import { makeCopy, removeCopies } from './untraced.mjs';
import { LEGACY, MODERN, check, markOf, requestOf } from './workload.mjs';

const START_LIMIT_MS = 30_000;

/**
 * @typedef {object} Contestant
 * @property {string} id
 * @property {string} name as the table shows it
 * @property {string} server key of `SERVERS`
 * @property {import('./workload.mjs').Question} question
 */

const call = (server, name, era) => ({
  id: `call:${server}:${era}`,
  name,
  server,
  question: { method: /** @type {const} */ ('tools/call'), era },
});
const list = (server, name, era) => ({
  id: `list:${server}:${era}`,
  name,
  server,
  question: { method: /** @type {const} */ ('tools/list'), era },
});

/** @type {readonly Contestant[]} */
export const CONTESTANTS = [
  call('raw', 'raw node:http, no MCP', LEGACY),
  call('mcp-corp', '**mcp-corp**, source answers at once', MODERN),
  call('sdk-v2', 'SDK v2 as documented', MODERN),
  call('mcp-nest', '@rekog/mcp-nest 2.0.5', MODERN),
  call('mcp-corp', '**mcp-corp**, source answers at once', LEGACY),
  call('sdk-v2', 'SDK v2 as documented', LEGACY),
  call('mcp-nest', '@rekog/mcp-nest 2.0.5', LEGACY),
  call('sdk-v1', 'SDK v1 McpServer per request', LEGACY),
  call('fastmcp', 'fastmcp (TypeScript), stateless', LEGACY),
  call('mcp-corp-postgres', '**mcp-corp** over PostgreSQL', MODERN),
  call('mcp-corp-postgres', '**mcp-corp** over PostgreSQL', LEGACY),
  list('mcp-corp-fifty', '**mcp-corp**', MODERN),
  list('mcp-nest-fifty', '@rekog/mcp-nest 2.0.5', MODERN),
  list('mcp-corp-fifty', '**mcp-corp**', LEGACY),
  list('mcp-nest-fifty', '@rekog/mcp-nest 2.0.5', LEGACY),
];

/** This build with traces and metrics off, the same once more, and one without them. @type {readonly Contestant[]} */
export const UNTRACED = [MODERN, LEGACY].flatMap((era) =>
  ['mcp-corp', 'mcp-corp-same', 'mcp-corp-untraced'].map((server) => call(server, server, era)),
);

/** Script and arguments, given the port; and the environment. */
const SERVERS = {
  raw: (port) => ['servers/raw.mjs', port],
  'sdk-v2': (port) => ['servers/sdk-v2.mjs', port, 'three'],
  'sdk-v1': (port) => ['servers/sdk-v1.mjs', port, 'three'],
  'mcp-nest': (port) => ['servers/mcp-nest.mjs', port, 'three'],
  fastmcp: (port) => ['servers/fastmcp.mjs', port, 'three'],
  'mcp-corp': (port) => ['servers/mcp-corp.mjs', port, 'three'],
  'mcp-corp-same': (port) => [makeCopy('same'), port, 'three'],
  'mcp-corp-untraced': (port) => [makeCopy('untraced'), port, 'three'],
  'mcp-corp-postgres': () => ['../dist/main.js'],
  'mcp-nest-fifty': (port) => ['servers/mcp-nest.mjs', port, 'fifty'],
  'mcp-corp-fifty': (port) => ['servers/mcp-corp.mjs', port, 'fifty'],
};

/** Audited servers write two lines a call. */
const AUDITED = new Set(['mcp-corp', 'mcp-corp-same', 'mcp-corp-untraced', 'mcp-corp-postgres']);

/**
 * @typedef {{ most: number, milliseconds: number }} Extent calls, and the time after which a burst ends in any case
 *
 * @typedef {object} Plan
 * @property {number} rounds
 * @property {Extent} burst
 * @property {Extent} warmUp
 * @property {(line: string) => void} tell
 * @property {Readonly<Record<string, string>>} productEnv environment of the product over its real sources
 * @property {readonly Contestant[]} [contestants]
 *
 * @typedef {{ contestant: Contestant, cpu: number[], rate: number[] }} Measured microseconds per call, calls per second
 */

/** @param {Plan} plan @returns {Promise<Measured[]>} one figure per round and contestant */
export async function measureCalls({ rounds, burst, warmUp, tell, productEnv, contestants = CONTESTANTS }) {
  const load = fork(new URL('load.mjs', import.meta.url));
  const running = new Map();
  /** @type {Measured[]} */
  const measured = contestants.map((contestant) => ({ contestant, cpu: [], rate: [] }));

  const underLoad = async ({ server, question }, extent) => {
    const { port, process: target } = running.get(server);
    const before = await target.cpu();
    const reply = once(load, 'message');
    load.send({ port, request: requestOf(question, port), mark: markOf(question), ...extent });
    const [figures] = await reply;
    const cpu = (await target.cpu()) - before;
    running.get(server).calls += figures.calls;
    if (figures.wrong > 0) throw new Error(`${server}: ${figures.wrong} of ${figures.calls} answers were wrong`);
    return { cpu: cpu / figures.calls, rate: (figures.calls * 1000) / figures.milliseconds };
  };

  try {
    for (const contestant of contestants) {
      const { server, question } = contestant;
      if (!running.has(server)) {
        const port = await freePort();
        const env = server === 'mcp-corp-postgres' ? { ...productEnv, MCP_CORP_PORT: String(port) } : {};
        running.set(server, { port, process: new MeasuredProcess(SERVERS[server](String(port)), env), calls: 0 });
      }
      check(question, await firstAnswer(running.get(server), requestOf(question, running.get(server).port)));
      await underLoad(contestant, warmUp);
      tell(`warmed up: ${contestant.id}`);
    }
    for (let round = 0; round < rounds; round++) {
      // There and back again: a machine that slows down favours nobody.
      const order = round % 2 === 0 ? measured : [...measured].reverse();
      for (const entry of order) {
        const { cpu, rate } = await underLoad(entry.contestant, burst);
        entry.cpu.push(cpu);
        entry.rate.push(rate);
      }
      tell(`round ${round + 1} of ${rounds}`);
    }
  } finally {
    load.disconnect();
    removeCopies();
    for (const [server, { process: target, calls }] of running) {
      const lines = await target.end();
      if (AUDITED.has(server) && lines < 2 * calls) {
        throw new Error(`${server} wrote ${lines} lines for ${calls} calls: the audit was not on`);
      }
    }
  }
  return measured;
}

/** Asks until the server has started. @returns {Promise<string>} body of the first answer with status 200 */
async function firstAnswer({ port, process: target }, request) {
  const end = performance.now() + START_LIMIT_MS;
  for (;;) {
    const text = await ask(port, request);
    if (text.startsWith('HTTP/1.1 200')) return dechunked(text);
    if (performance.now() > end) throw new Error(`no answer: ${text.slice(0, 300)}\n${target.errors}`);
    await delay(20);
  }
}

/** One request on a connection of its own; '' when there is nobody. */
export function ask(port, request) {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(request));
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
      if (isWhole(text)) socket.destroy();
    });
    socket.on('error', () => undefined).on('close', () => resolve(text));
  });
}

function isWhole(text) {
  const [head, ...rest] = text.split('\r\n\r\n');
  if (rest.length === 0) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  return length === undefined
    ? text.endsWith('\r\n0\r\n\r\n')
    : Buffer.byteLength(rest.join('\r\n\r\n')) >= Number(length);
}

function dechunked(text) {
  const [head, ...rest] = text.split('\r\n\r\n');
  const body = rest.join('\r\n\r\n');
  return /\r\ntransfer-encoding: chunked/i.test(head) ? body.replace(/(?:^|\r\n)[0-9a-f]+\r\n/g, '').trim() : body;
}
