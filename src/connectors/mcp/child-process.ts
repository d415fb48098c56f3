import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { type Readable, type Writable } from 'node:stream';
import { type Clock } from '../../resilience/clock.js';

/** The variable in which a child finds the credential it acts with (spec §3.6). */
export const CREDENTIAL_VARIABLE = 'MCP_UPSTREAM_CREDENTIAL';

/** A child that is told to end has this long for each step, in milliseconds: end of input, SIGTERM, SIGKILL. */
const PATIENCE_MS = 500;

export interface ChildCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** `PATH` of this process. */
  readonly path: string | undefined;
}

/** Groups that are alive: a process that ends in disorder takes them with it. */
const groups = new Set<number>();
let armed = false;

function rememberGroup(pid: number): void {
  groups.add(pid);
  if (armed) return;
  armed = true;
  process.once('exit', () => {
    for (const group of groups) signalGroup(group, 'SIGKILL');
  });
}

/**
 * One child and whatever it starts, as a process group of its own, so that none of them is left behind. Its environment is
 * PATH and its credential and nothing else of ours; what it writes to stderr is nobody's.
 */
export class UpstreamChild {
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  #closing: Promise<void> | undefined;

  constructor(
    { command, args, path }: ChildCommand,
    credential: string | undefined,
    private readonly clock: Clock,
  ) {
    this.#child = spawn(command, [...args], {
      env: {
        ...(path !== undefined && { PATH: path }),
        ...(credential !== undefined && { [CREDENTIAL_VARIABLE]: credential }),
      },
      detached: true,
      stdio: ['pipe', 'pipe', 'ignore'],
      windowsHide: true,
    });
    const { pid } = this.#child;
    if (pid !== undefined) rememberGroup(pid);
    this.#exited = new Promise((resolve) => {
      const over = (): void => {
        // The group outlives its leader when the leader has left children.
        if (pid !== undefined) {
          signalGroup(pid, 'SIGKILL');
          groups.delete(pid);
        }
        resolve();
      };
      this.#child.once('exit', over);
      if (pid === undefined) this.#child.once('error', over);
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get stdin(): Writable {
    if (this.#child.stdin === null) throw new Error('the child has no input');
    return this.#child.stdin;
  }

  get stdout(): Readable {
    if (this.#child.stdout === null) throw new Error('the child has no output');
    return this.#child.stdout;
  }

  /** Resolves when the child is gone, also when it never began. */
  get exited(): Promise<void> {
    return this.#exited;
  }

  /** Resolves when it runs; rejects with the system's error (`code`: ENOENT, EACCES). */
  async started(): Promise<void> {
    if (this.#child.pid !== undefined) return;
    const [error] = (await once(this.#child, 'error')) as [Error];
    throw error;
  }

  /** Politely first; resolves when the child and its group are gone. */
  close(): Promise<void> {
    return (this.#closing ??= this.#end());
  }

  async #end(): Promise<void> {
    const { pid } = this.#child;
    this.stdin.end();
    if (await this.#within()) return;
    if (pid !== undefined) signalGroup(pid, 'SIGTERM');
    if (await this.#within()) return;
    if (pid !== undefined) signalGroup(pid, 'SIGKILL');
    await this.#exited;
  }

  #within(): Promise<boolean> {
    return new Promise((resolve) => {
      const cancel = this.clock.after(PATIENCE_MS, () => resolve(false));
      void this.#exited.then(() => {
        cancel();
        resolve(true);
      });
    });
  }
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // The group has gone, which is what was wanted; EPERM is how macOS says so of one that is going.
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}
