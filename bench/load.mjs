// @ts-check
/**
 * The load generator, a process of its own: 16 connections, each with one request in flight, over raw sockets, because an
 * HTTP client would use more CPU than the fastest server here. Each message is one burst; its answer the figures.
 */
import { connect } from 'node:net';

const CONNECTIONS = 16;
const HEAD_END = Buffer.from('\r\n\r\n');
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n');

/**
 * @typedef {object} Burst
 * @property {number} port
 * @property {string} request
 * @property {string} mark bytes that a right answer holds
 * @property {number} most calls, after which the burst ends
 * @property {number} milliseconds after which it ends in any case
 *
 * @typedef {object} Figures
 * @property {number} calls
 * @property {number} wrong answers without the mark or with another status, and connections that were closed early
 * @property {number} milliseconds
 */

class Client {
  #received = Buffer.alloc(0);
  #ended = false;

  /**
   * @param {Burst} burst
   * @param {() => boolean} goesOn whether one more request may be sent
   * @param {(right: boolean) => void} answered
   * @param {() => void} done
   */
  constructor(burst, goesOn, answered, done) {
    this.request = Buffer.from(burst.request);
    this.mark = Buffer.from(burst.mark);
    this.goesOn = goesOn;
    this.answered = answered;
    this.socket = connect({ port: burst.port, host: '127.0.0.1', noDelay: true });
    this.socket.on('connect', () => this.#next());
    this.socket.on('data', (chunk) => this.#data(chunk));
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => {
      if (!this.#ended) answered(false);
      done();
    });
  }

  #next() {
    if (this.goesOn()) {
      this.socket.write(this.request);
      return;
    }
    this.#ended = true;
    this.socket.end();
  }

  /** @param {Buffer} chunk */
  #data(chunk) {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const head = this.#received.indexOf(HEAD_END);
    if (head < 0) return;
    const headers = this.#received.toString('latin1', 0, head + 2);
    const length = /\r\ncontent-length: (\d+)\r\n/i.exec(headers)?.[1];
    const whole =
      length === undefined
        ? this.#received.indexOf(LAST_CHUNK, head) > 0
        : this.#received.length >= head + 4 + Number(length);
    if (!whole) return;
    const right = headers.startsWith('HTTP/1.1 200') && this.#received.includes(this.mark, head);
    this.#received = Buffer.alloc(0);
    this.answered(right);
    this.#next();
  }
}

/** @param {Burst} burst @returns {Promise<Figures>} */
async function run(burst) {
  const begun = performance.now();
  const until = begun + burst.milliseconds;
  let sent = 0;
  let calls = 0;
  let wrong = 0;
  const goesOn = () => sent++ < burst.most && performance.now() < until;
  const client = () =>
    new Promise((resolve) => {
      const count = (/** @type {boolean} */ right) => {
        calls += 1;
        if (!right) wrong += 1;
      };
      new Client(burst, goesOn, count, () => resolve(undefined));
    });
  await Promise.all(Array.from({ length: CONNECTIONS }, client));
  return { calls, wrong, milliseconds: performance.now() - begun };
}

process.on('message', (/** @type {Burst} */ burst) => void run(burst).then((figures) => process.send?.(figures)));
process.on('disconnect', () => process.exit(0));
