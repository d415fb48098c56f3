// @ts-check
/** `@modelcontextprotocol/server-everything` over HTTP, on loopback, as an upstream of the demo. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';

/** As examples/policy/with-upstreams.yaml says. */
const PORT = 8931;

const PROGRAM = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));
const LOOPBACK = new URL('./loopback-only.mjs', import.meta.url).href;

/** @returns {Promise<{ stop(): Promise<void> }>} */
export async function startEverything() {
  const child = spawn(process.execPath, ['--import', LOOPBACK, PROGRAM, 'streamableHttp'], {
    env: { PATH: process.env.PATH, PORT: String(PORT) },
    stdio: 'ignore',
  });
  const gone = once(child, 'exit');
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);
  for (;;) {
    if (child.exitCode !== null)
      throw new Error(`the upstream on port ${PORT} ended with ${child.exitCode}: is the port taken?`);
    const answered = await fetch(`http://127.0.0.1:${PORT}/mcp`).then(
      (response) => response.body?.cancel().then(() => true) ?? true,
      () => false,
    );
    if (answered) break;
    await delay(50);
  }
  return {
    async stop() {
      process.off('exit', kill);
      child.kill('SIGKILL');
      await gone;
    },
  };
}
