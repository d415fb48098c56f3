// @ts-check
/** One process of the built server, with an environment made of nothing but what is given. */
import { once } from 'node:events';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';
import { freePort } from '../free-port.mjs';
import { HOST, get, until } from './loopback.mjs';

/**
 * @typedef {object} SourceState What /diagnostics says of a source, as far as it is looked at here.
 * @property {'closed' | 'open' | 'half_open'} circuit_state
 * @property {number} in_flight
 * @property {number} max_concurrency
 *
 * @typedef {Readonly<Record<string, unknown>> & { message?: string }} LogLine
 *
 * @typedef {object} ReplicaOptions
 * @property {number} [port] By default a free one.
 * @property {string} [script] By default the product's.
 * @property {(line: LogLine) => void} [onLine] Told every line of its log.
 */

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
/** The built server with one thing added: somebody who may announce changes, so that streams stay open. */
export const WITH_STREAMS = fileURLToPath(new URL('server-with-streams.mjs', import.meta.url));

/** Its end is asked for with SIGTERM; what takes longer than the grace and this has failed. */
const STOP_LIMIT_MS = 20_000;
const MAX_STDERR = 2_000;

export class Replica {
  #stderr = '';

  /**
   * Starts one and waits for its first `/ready` 200.
   *
   * @param {import('./children.mjs').Children} children
   * @param {Readonly<Record<string, string>>} env
   * @param {ReplicaOptions} [options]
   */
  static async ready(children, env, options = {}) {
    const replica = new Replica(children, env, options, options.port ?? (await freePort()));
    await until('a replica is ready', () => replica.#isReady());
    return replica;
  }

  /**
   * @private
   * @param {import('./children.mjs').Children} children
   * @param {Readonly<Record<string, string>>} env @param {ReplicaOptions} options @param {number} port
   */
  constructor(children, env, { script = MAIN, onLine }, port) {
    this.port = port;
    this.url = `http://${HOST}:${port}`;
    this.mcp = `${this.url}/mcp`;
    this.child = children.start(process.execPath, [script], {
      PATH: process.env['PATH'],
      UV_THREADPOOL_SIZE: '16',
      MCP_CORP_HOST: HOST,
      MCP_CORP_PORT: String(port),
      MCP_CORP_DRAIN_SECONDS: '0',
      MCP_CORP_AUDIT_HMAC_SECRET: 'clave-secreta-de-prueba-a',
      ...env,
    });
    const { stdout, stderr } = this.child;
    if (stdout === null || stderr === null) throw new Error('a replica without pipes');
    if (onLine) readline.createInterface(stdout).on('line', (line) => onLine(lineOf(line)));
    else stdout.resume();
    stderr.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
      this.#stderr = (this.#stderr + text).slice(-MAX_STDERR);
    });
  }

  /** SIGTERM. Resolves to the exit code, null when a signal ended it. @returns {Promise<number | null>} */
  async stop() {
    const { child } = this;
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    const late = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
    child.kill('SIGTERM');
    await once(child, 'close');
    clearTimeout(late);
    return child.exitCode;
  }

  /** @param {string} source @returns {Promise<SourceState>} */
  async source(source) {
    const { text } = await get(`${this.url}/diagnostics`);
    const answer = /** @type {unknown} */ (JSON.parse(text));
    const { connectors } = /** @type {{ connectors: Record<string, SourceState> }} */ (answer);
    const state = connectors[source];
    if (state === undefined) throw new Error(`no source ${source} in /diagnostics`);
    return state;
  }

  async #isReady() {
    if (this.child.exitCode !== null) throw new Error(`a replica ended with ${this.child.exitCode}: ${this.#stderr}`);
    return (await get(`${this.url}/ready`)).status === 200;
  }
}

/** @param {string} text @returns {LogLine} */
function lineOf(text) {
  const value = /** @type {unknown} */ (JSON.parse(text));
  return /** @type {LogLine} */ (value);
}
