// @ts-check
// The command line, once for each line of stdin (a JSON list of arguments); one JSON line for each answer. `serve` is not
// here: a process serves once.
import { createInterface } from 'node:readline';

/**
 * A built module, with the types of its source.
 *
 * @param {string} path
 */
const built = (path) => /** @type {Promise<unknown>} */ (import(new URL(`../../dist/${path}`, import.meta.url).href));

const { runProgram } = /** @type {typeof import('../../src/cli/program.js')} */ (await built('cli/program.js'));
const { canonicalBy, governable } = /** @type {typeof import('../../src/run.js')} */ (await built('run.js'));

for await (const line of createInterface({ input: process.stdin })) {
  let [out, err] = ['', ''];
  /** @type {unknown} */
  const args = JSON.parse(line);
  const code = await runProgram(Array.isArray(args) ? args.map(String) : [], {
    product: async () => ({ catalogue: governable(), canonical: canonicalBy() }),
    terminal: { out: (text) => void (out += text), err: (text) => void (err += text) },
    now: () => Date.now(),
    serve: () => Promise.reject(new Error('serve has a process of its own')),
    discover: () => Promise.reject(new Error('catalog has a process of its own')),
  });
  process.stdout.write(`${JSON.stringify({ code, out, err })}\n`);
}
