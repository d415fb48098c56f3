// @ts-check
/**
 * Processes that cannot outlive this one. The law: however this process ends, SIGKILL included, so do they; so a guard
 * process kills them when a pipe closes, and a pipe closes by itself.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';

/** Reads `+ pid` and `- pid`, one a line. */
const GUARD = `
while read -r sign pid; do
  case "$sign" in
    +) pids="$pids $pid" ;;
    -) left=; for each in $pids; do [ "$each" = "$pid" ] || left="$left $each"; done; pids=$left ;;
  esac
done
[ -z "$pids" ] || kill -KILL $pids 2>/dev/null
exit 0
`;

/** @typedef {import('node:child_process').ChildProcess} ChildProcess */

export class Children {
  /** @type {Map<ChildProcess, Promise<unknown>>} */
  #running = new Map();

  constructor() {
    // A session of its own: Ctrl-C in a terminal must not end the guard first.
    const guard = spawn('/bin/sh', ['-c', GUARD], { stdio: ['pipe', 'ignore', 'ignore'], detached: true, cwd: '/' });
    guard.stdin.on('error', () => undefined); // a guard that is gone can guard nothing
    guard.unref();
    if (guard.stdin instanceof net.Socket) guard.stdin.unref();
    this.guard = guard;
  }

  /**
   * Output comes through pipes that somebody must read.
   *
   * @param {string} command @param {readonly string[]} args @param {NodeJS.ProcessEnv} env
   */
  start(command, args, env) {
    const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const { pid } = child;
    const gone = new Promise((resolve) => {
      child.once('error', resolve);
      child.once('close', resolve);
    }).finally(() => {
      this.#running.delete(child);
      if (pid !== undefined) this.guard.stdin.write(`- ${pid}\n`);
    });
    this.#running.set(child, gone);
    if (pid !== undefined) this.guard.stdin.write(`+ ${pid}\n`);
    return child;
  }

  /** Kills what still runs, and resolves when it is gone. */
  async endAll() {
    const running = [...this.#running];
    for (const [child] of running) child.kill('SIGKILL');
    await Promise.all(running.map(([, gone]) => gone));
  }

  async close() {
    await this.endAll();
    this.guard.ref();
    const gone = once(this.guard, 'exit');
    this.guard.stdin.end();
    await gone;
  }
}
