// @ts-check
/** Programs run from here: with a bound on their time, and an error that says what they said. */
import { spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';

const MAX_TAIL = 4000;

/** What a text says, of a type that its reader must claim. @param {string} text @returns {unknown} */
export const fromJson = (text) => JSON.parse(text);

/**
 * @typedef {object} RunOptions
 * @property {number} [timeoutMs] Default one minute; then SIGKILL.
 * @property {Record<string, string>} [env] Beside the process's own.
 * @property {string | NodeJS.ReadableStream} [input]
 * @property {string} [cwd]
 *
 * @typedef {{ code: number, stdout: string, stderr: string }} Ended
 */

/** @param {string} program @param {readonly string[]} args @param {RunOptions} [options] @returns {Promise<Ended>} */
export async function attempt(program, args, { timeoutMs = 60_000, env = {}, input, cwd } = {}) {
  const child = spawn(program, args, { env: { ...process.env, ...env }, cwd, stdio: ['pipe', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text));
  child.stdin.on('error', () => undefined); // a program may end without reading: its exit code tells
  if (input === undefined || typeof input === 'string') child.stdin.end(input);
  else input.pipe(child.stdin);
  const timer = setTimeout(() => {
    stderr += `\nkilled after ${timeoutMs / 1000} s`;
    child.kill('SIGKILL');
  }, timeoutMs);
  try {
    /** @type {number} */
    const code = await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (exitCode) => resolve(exitCode ?? 137));
    });
    return { code, stdout, stderr };
  } finally {
    clearTimeout(timer);
  }
}

/** What the program wrote on stdout, trimmed; throws when it failed. @param {string} program @param {readonly string[]} args @param {RunOptions} [options] */
export async function run(program, args, options) {
  const { code, stdout, stderr } = await attempt(program, args, options);
  if (code === 0) return stdout.trim();
  throw new Error(
    `${program} ${args.slice(0, 4).join(' ')} … ended with ${code}: ${(stderr + stdout).slice(-MAX_TAIL)}`,
  );
}

/**
 * Asks again and again until the answer is neither false nor undefined.
 *
 * @template T
 * @param {string} what
 * @param {() => Promise<T | false | undefined>} ask
 * @param {{ timeoutMs?: number, everyMs?: number }} [times]
 * @returns {Promise<T>}
 */
export async function until(what, ask, { timeoutMs = 60_000, everyMs = 250 } = {}) {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (answer !== false && answer !== undefined) return answer;
    if (performance.now() > end) throw new Error(`not within ${timeoutMs / 1000} s: ${what}`);
    await delay(everyMs);
  }
}
