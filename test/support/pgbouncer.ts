import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../scripts/free-port.mjs';
import { until } from './until.js';

export interface PgBouncerTarget {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  /** Server connections in its pool. */
  readonly poolSize: number;
}

/** Debian's PgBouncer in transaction mode in front of a server: a process of its own, on loopback. */
export class PgBouncer {
  readonly #folder = mkdtempSync(join(tmpdir(), 'mcp-corp-pgbouncer-'));
  #child: ChildProcess | undefined;

  private constructor(
    readonly port: number,
    private readonly target: PgBouncerTarget,
  ) {}

  static async start(target: PgBouncerTarget): Promise<PgBouncer> {
    const bouncer = new PgBouncer(await freePort(), target);
    await bouncer.resume();
    return bouncer;
  }

  /** Also after `kill`, on the same port. */
  async resume(): Promise<void> {
    const { host, port, user, password, poolSize } = this.target;
    const [settings, users] = [join(this.#folder, 'pgbouncer.ini'), join(this.#folder, 'users.txt')];
    const lines = [
      '[databases]',
      `* = host=${host} port=${port}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${this.port}`,
      'unix_socket_dir =',
      'pool_mode = transaction',
      `default_pool_size = ${poolSize}`,
      'auth_type = scram-sha-256',
      `auth_file = ${users}`,
      // It lets nobody through for this long after a login that failed, whoever is there again: by default 15 s.
      'server_login_retry = 1',
    ];
    writeFileSync(settings, `${lines.join('\n')}\n`);
    writeFileSync(users, `"${user}" "${password}"\n`);
    // It refuses to run as root, and whom it becomes must read its files.
    chmodSync(this.#folder, 0o755);
    const root = process.getuid?.() === 0;
    const child = spawn('pgbouncer', ['-q', ...(root ? ['-u', 'nobody'] : []), settings], { stdio: 'ignore' });
    this.#child = child;
    const failed = once(child, 'exit').then(() => Promise.reject(new Error('pgbouncer ended at once')));
    failed.catch(() => undefined);
    await Promise.race([failed, until(() => listens(this.port), 5_000)]);
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  async close(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true });
  }
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
