// @ts-check
/**
 * A strict round-robin balancer for machines without HAProxy: asks every target for `/ready`, passes each request to the next
 * one that is, and to the one after it only when no connection came about. Never twice what a target may have begun.
 */
import http from 'node:http';
import { HOST, get } from './loopback.mjs';

const CHECK_MS = 100;
const CHECK_LIMIT_MS = 2_000;
const MAX_BODY_BYTES = 8 * 1024 * 1024;
/** Of one hop: they say nothing to the other side. */
const HOP_HEADERS = ['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'te', 'trailer', 'proxy-connection'];

/** @typedef {{ port: number, up: boolean }} Target */

export class RoundRobin {
  /** @type {Target[]} */
  #targets;
  #next = 0;
  #closed = false;
  #server = http.createServer((request, response) => void this.#receive(request, response));

  /** @private @param {readonly number[]} ports */
  constructor(ports) {
    this.#targets = ports.map((port) => ({ port, up: false }));
  }

  /** @param {readonly number[]} ports of the targets, on loopback @param {number} [port] */
  static async start(ports, port = 0) {
    const balancer = new RoundRobin(ports);
    await new Promise((resolve, reject) => {
      balancer.#server.once('error', reject);
      balancer.#server.listen(port, HOST, () => resolve(undefined));
    });
    for (const target of balancer.#targets) void balancer.#watch(target);
    return balancer;
  }

  get url() {
    const { port } = /** @type {import('node:net').AddressInfo} */ (this.#server.address());
    return `http://${HOST}:${port}`;
  }

  /** Whether requests go there. @param {number} port */
  async isUp(port) {
    return this.#targets.some((target) => target.port === port && target.up);
  }

  /** @returns {Promise<void>} */
  close() {
    this.#closed = true;
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  /** @param {Target} target */
  async #watch(target) {
    while (!this.#closed) {
      target.up = (await get(`http://${HOST}:${target.port}/ready`, CHECK_LIMIT_MS)).status === 200;
      await new Promise((resolve) => setTimeout(resolve, CHECK_MS).unref());
    }
  }

  /** Those that are up, the one whose turn it is first. */
  #turns() {
    const up = this.#targets.filter((target) => target.up);
    const first = this.#next++ % Math.max(1, up.length);
    return [...up.slice(first), ...up.slice(0, first)];
  }

  /** @param {http.IncomingMessage} request @param {http.ServerResponse} response */
  async #receive(request, response) {
    try {
      const body = await bodyOf(request);
      for (const target of this.#turns()) {
        if (await pass(target, request, body, response)) return;
        target.up = false;
      }
      response.writeHead(503, { 'content-type': 'text/plain' }).end('no target is ready\n');
    } catch {
      response.destroy(); // the caller went, or sent too much
    }
  }
}

/** @param {http.IncomingMessage} request */
async function bodyOf(request) {
  /** @type {Buffer[]} */
  const parts = [];
  let size = 0;
  for await (const buffer of /** @type {AsyncIterable<Buffer>} */ (request)) {
    size += buffer.length;
    if (size > MAX_BODY_BYTES) throw new Error('too large');
    parts.push(buffer);
  }
  return Buffer.concat(parts);
}

/**
 * False: no connection came about, so nobody has begun anything.
 *
 * @param {Target} target @param {http.IncomingMessage} request @param {Buffer} body @param {http.ServerResponse} response
 * @returns {Promise<boolean>}
 */
function pass({ port }, { method, url, headers }, body, response) {
  const kept = Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_HEADERS.includes(name)));
  return new Promise((resolve) => {
    const onward = http.request(
      { host: HOST, port, method, path: url, agent: false, headers: { ...kept, 'content-length': body.length } },
      (answer) => {
        const back = Object.entries(answer.headers).filter(([name]) => !HOP_HEADERS.includes(name));
        response.writeHead(answer.statusCode ?? 502, Object.fromEntries(back));
        response.flushHeaders();
        answer.on('error', () => response.destroy());
        answer.pipe(response);
        resolve(true);
      },
    );
    response.on('close', () => onward.destroy());
    onward.on('error', (/** @type {NodeJS.ErrnoException} */ error) => {
      if (error.code === 'ECONNREFUSED') return resolve(false);
      if (response.headersSent) response.destroy();
      else response.writeHead(502).end();
      resolve(true);
    });
    onward.end(body);
  });
}
