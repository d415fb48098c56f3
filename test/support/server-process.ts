import { spawn, type ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../scripts/free-port.mjs';

/** One line of the server's output. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly message: string };

export interface ServerProcessOptions {
  readonly port?: number;
  readonly cwd?: string;
  /** Script and arguments; by default `dist/main.js` of this repository. */
  readonly command?: readonly string[];
  /** A program, and its arguments, that becomes Node: Node's own command line is appended to it. */
  readonly launcher?: readonly string[];
  /** A descriptor instead of the pipe that is read. */
  readonly stdout?: number;
}

const HERE = new URL('.', import.meta.url).pathname;
const MAIN = new URL('../../dist/main.js', import.meta.url).pathname;

const MOST_ATTEMPTS = 3;

/**
 * The built server (`dist/main.js`) as a process of its own, with an environment made of nothing but what the test
 * gives: real signals, real exit codes, and everything it writes is kept.
 */
export class ServerProcess {
  readonly url: string;
  stdout = '';
  stderr = '';
  readonly exited: Promise<number | null>;
  #watchers = new Set<() => void>();

  private constructor(
    readonly child: ChildProcess,
    readonly port: number,
  ) {
    this.url = `http://127.0.0.1:${port}`;
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
      for (const look of this.#watchers) look();
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
      for (const look of this.#watchers) look();
    });
    this.exited = new Promise((resolve) => child.once('close', (code) => resolve(code)));
  }

  static async spawn(
    env: Readonly<Record<string, string>>,
    { port: wanted, cwd = HERE, command = [MAIN], launcher = [], stdout = undefined }: ServerProcessOptions = {},
  ): Promise<ServerProcess> {
    const port = wanted ?? (await freePort());
    const [program = process.execPath, ...rest] = [...launcher, process.execPath, ...command];
    const child = spawn(program, rest, {
      cwd,
      env: {
        PATH: process.env['PATH'],
        UV_THREADPOOL_SIZE: '16',
        MCP_CORP_HOST: '127.0.0.1',
        MCP_CORP_PORT: String(port),
        MCP_CORP_DRAIN_SECONDS: '0',
        ...env,
      },
      stdio: ['ignore', stdout ?? 'pipe', 'pipe'],
    });
    return new ServerProcess(child, port);
  }

  /** Spawns and waits for the first `/ready` 200. */
  static async ready(
    env: Readonly<Record<string, string>>,
    options: ServerProcessOptions = {},
  ): Promise<ServerProcess> {
    for (let attempt = 1; ; attempt += 1) {
      const server = await ServerProcess.spawn(env, options);
      try {
        await server.untilReady();
        return server;
      } catch (error) {
        // A free port may be somebody else's by the time it is used; one that the test has chosen is its own affair.
        const taken = server.child.exitCode !== null && server.stdout.includes('the port is taken');
        if (!taken || options.port !== undefined || attempt === MOST_ATTEMPTS) throw error;
      }
    }
  }

  get lines(): LogLine[] {
    return this.stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as LogLine);
  }

  events(message: string): LogLine[] {
    return this.lines.filter((line) => line.message === message);
  }

  /** Waits until the output satisfies `seen`; rejects when the process ends first or after `milliseconds`. */
  async until(seen: (server: this) => boolean, milliseconds = 15_000): Promise<void> {
    if (seen(this)) return;
    await new Promise<void>((resolve, reject) => {
      const done = (error?: Error) => {
        this.#watchers.delete(look);
        clearTimeout(timer);
        if (error === undefined) resolve();
        else reject(error);
      };
      const look = () => {
        if (seen(this)) done();
      };
      const timer = setTimeout(
        () => done(new Error(`not seen in ${milliseconds} ms; output:\n${this.stdout}${this.stderr}`)),
        milliseconds,
      );
      this.#watchers.add(look);
      void this.exited.then((code) =>
        done(seen(this) ? undefined : new Error(`ended with ${code}; output:\n${this.stdout}${this.stderr}`)),
      );
    });
  }

  async untilReady(milliseconds = 45_000): Promise<void> {
    const end = performance.now() + milliseconds;
    let code: number | null | undefined;
    void this.exited.then((exit) => {
      code = exit;
    });
    for (;;) {
      const status = await fetch(`${this.url}/ready`).then(
        (response) => response.status,
        () => 0,
      );
      if (status === 200) return;
      if (code !== undefined) throw new Error(`ended with ${code}; output:\n${this.stdout}${this.stderr}`);
      if (performance.now() > end)
        throw new Error(`not ready in ${milliseconds} ms; output:\n${this.stdout}${this.stderr}`);
      await delay(20);
    }
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** SIGTERM, and the exit code. */
  async stop(): Promise<number | null> {
    if (this.child.exitCode === null) this.kill('SIGTERM');
    return this.exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
