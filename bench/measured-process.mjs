// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

const CONTROL = new URL('control.mjs', import.meta.url).href;

/** Standard output goes through a real pipe to a reader that counts its lines. */
const INTO_PIPE = '"$@" | wc -l 3>&-';

/**
 * One server as a process of its own, with nothing of our environment. The control channel ends it, and so does the end
 * of this process.
 */
export class MeasuredProcess {
  #output = '';
  #errors = '';

  /** @param {readonly string[]} command script and arguments @param {Readonly<Record<string, string>>} [env] */
  constructor(command, env = {}) {
    this.child = spawn(
      '/bin/sh',
      ['-c', INTO_PIPE, 'sh', process.execPath, ...flags(), '--import', CONTROL, ...command],
      {
        cwd: fileURLToPath(new URL('.', import.meta.url)),
        env: { PATH: process.env['PATH'], UV_THREADPOOL_SIZE: '16', ...env },
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      },
    );
    this.child.stdout?.setEncoding('utf8').on('data', (text) => (this.#output += text));
    this.child.stderr?.setEncoding('utf8').on('data', (text) => (this.#errors = (this.#errors + text).slice(-4000)));
    // Not 'close': it does not come after a disconnect by this side.
    this.closed = Promise.all([
      once(this.child, 'exit'),
      once(/** @type {import('node:stream').Readable} */ (this.child.stdout), 'end'),
    ]);
  }

  get errors() {
    return this.#errors;
  }

  /** Microseconds of CPU since the process began. @returns {Promise<number>} */
  async cpu() {
    const reply = once(this.child, 'message');
    this.child.send('cpu');
    const ended = this.closed.then(() => Promise.reject(new Error(`a measured process ended: ${this.#errors}`)));
    ended.catch(() => undefined);
    const [{ cpu }] = await Promise.race([reply, ended]);
    return cpu;
  }

  /** Ends the process; the number of lines that it has written. */
  async end() {
    if (this.child.connected) this.child.disconnect();
    await this.closed;
    return Number(this.#output.trim());
  }
}

/** For profiling: `BENCH_NODE_FLAGS='--cpu-prof --cpu-prof-dir=…'`. */
function flags() {
  return (process.env['BENCH_NODE_FLAGS'] ?? '').split(' ').filter((flag) => flag !== '');
}

/** A TCP port on loopback that was free a moment ago. @returns {Promise<number>} */
export async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
