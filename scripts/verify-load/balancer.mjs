// @ts-check
/** What stands before the replicas: HAProxy where there is one, else the project's own. */
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '../free-port.mjs';
import { HOST, get, until } from './loopback.mjs';
import { RoundRobin } from './round-robin.mjs';
import { HAPROXY_DEFAULTS, HAPROXY_REPLICAS } from '../haproxy.mjs';

/**
 * @typedef {object} Balancer
 * @property {string} url
 * @property {(port: number) => Promise<boolean>} isUp Whether requests go to the replica on that port.
 * @property {() => Promise<void>} close
 */

/** Debian puts it where users without root have no PATH. */
const FOLDERS = [...(process.env['PATH'] ?? '').split(path.delimiter), '/usr/sbin', '/usr/local/sbin'];

/** Undefined: there is none. */
export function findHaproxy() {
  return FOLDERS.map((folder) => path.join(folder, 'haproxy')).find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/**
 * @param {'haproxy' | 'own'} kind
 * @param {import('./children.mjs').Children} children
 * @param {readonly number[]} ports of the replicas
 * @returns {Promise<Balancer>}
 */
export async function startBalancer(kind, children, ports) {
  return kind === 'own' ? RoundRobin.start(ports) : startHaproxy(children, ports);
}

/** @param {import('./children.mjs').Children} children @param {readonly number[]} ports @returns {Promise<Balancer>} */
async function startHaproxy(children, ports) {
  const program = findHaproxy();
  if (program === undefined) throw new Error('haproxy is not installed: use --balancer own');
  const [port, statistics] = [await freePort(), await freePort()];
  const folder = mkdtempSync(path.join(tmpdir(), 'mcp-corp-haproxy-'));
  const file = path.join(folder, 'haproxy.cfg');
  writeFileSync(file, configuration(port, statistics, ports));
  const child = children.start(program, ['-db', '-q', '-f', file], {});
  child.stdout?.resume();
  child.stderr?.resume();
  const gone = new Promise((resolve) => child.once('close', resolve));
  const states = async () => statesOf((await get(`http://${HOST}:${statistics}/;csv`)).text);
  try {
    await until('haproxy serves', async () => (await states()).size > 0);
  } finally {
    rmSync(folder, { recursive: true, force: true }); // it has been read
  }
  return {
    url: `http://${HOST}:${port}`,
    isUp: async (replica) => (await states()).get(`r${replica}`) === 'UP',
    async close() {
      child.kill('SIGKILL');
      await gone;
    },
  };
}

/**
 * `/ready` decides, and a request goes elsewhere only when no connection came about. One 503 is enough to look away, but a
 * late answer is none: without a time of its own a check has only until the next one.
 */
function configuration(
  /** @type {number} */ port,
  /** @type {number} */ statistics,
  /** @type {readonly number[]} */ ports,
) {
  return `${HAPROXY_DEFAULTS}
frontend mcp
  bind ${HOST}:${port}
  default_backend replicas
frontend statistics
  bind ${HOST}:${statistics}
  stats enable
  stats uri /${HAPROXY_REPLICAS}
  default-server check inter 100ms fall 1 rise 1
${ports.map((each) => `  server r${each} ${HOST}:${each}`).join('\n')}
`;
}

/** Server → state, from HAProxy's CSV. @param {string} csv */
function statesOf(csv) {
  const rows = csv.split('\n').map((line) => line.split(','));
  const column = rows[0]?.indexOf('status') ?? -1;
  return new Map(
    rows.filter(([proxy]) => proxy === 'replicas').map((row) => /** @type {const} */ ([row[1], row[column]])),
  );
}
