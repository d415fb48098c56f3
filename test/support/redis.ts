import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:net';
import { freePort } from '../../scripts/free-port.mjs';
import { until } from './until.js';

/** Why tests with a real Redis are skipped; undefined where they are not. Debian's `redis-server`, which `.ci/run` installs. */
export const NO_REDIS =
  spawnSync('redis-server', ['--version']).status === 0 ? undefined : 'redis-server is not installed';

export interface RedisOptions {
  readonly password?: string;
  /** PEM: then it speaks TLS and nothing else. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

/** A Redis of the test's own on loopback, without a disk, that can be stopped, frozen and started again on its port. */
export class RedisProcess {
  #child: ChildProcess | undefined;

  private constructor(
    readonly port: number,
    private readonly folder: string,
    private readonly options: RedisOptions,
  ) {}

  static async start(options: RedisOptions = {}): Promise<RedisProcess> {
    const redis = new RedisProcess(await freePort(), mkdtempSync(join(tmpdir(), 'redis-')), options);
    await redis.restart();
    return redis;
  }

  get url(): string {
    const { password, tls } = this.options;
    const login = password === undefined ? '' : `:${encodeURIComponent(password)}@`;
    return `${tls === undefined ? 'redis' : 'rediss'}://${login}127.0.0.1:${this.port}`;
  }

  /** Starts it, empty. */
  async restart(): Promise<void> {
    const { password, tls } = this.options;
    const args = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', this.folder];
    if (password !== undefined) args.push('--requirepass', password);
    if (tls === undefined) args.push('--port', String(this.port));
    else {
      const file = (name: string, text: string): string => {
        writeFileSync(join(this.folder, name), text, { mode: 0o600 });
        return join(this.folder, name);
      };
      args.push('--port', '0', '--tls-port', String(this.port), '--tls-auth-clients', 'no');
      args.push('--tls-cert-file', file('cert.pem', tls.cert), '--tls-key-file', file('key.pem', tls.key));
    }
    this.#child = spawn('redis-server', args, { stdio: 'ignore' });
    await until(() => this.#listens());
  }

  #listens(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect(this.port, '127.0.0.1');
      socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
      socket.on('connect', () => socket.destroy());
    });
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#child = undefined;
    const ended = once(child, 'exit');
    child.kill('SIGCONT');
    child.kill('SIGKILL');
    await ended;
  }

  /** It keeps its connections and answers nothing. */
  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true });
  }
}
