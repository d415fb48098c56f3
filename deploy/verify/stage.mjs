// @ts-check
/** The frame of a long check: what must be undone is undone, however it ends; it ends; and it says what it proved. */

/** A clean-up that hangs must not hold the machine. Milliseconds. */
const CLEAN_UP_MS = 120_000;

/**
 * @typedef {object} Stage
 * @property {(claim: string, holds: boolean, figure?: string) => void} prove Prints one line; a claim that does not hold fails the whole check.
 * @property {(text: string) => void} say
 * @property {(undo: () => Promise<unknown>) => void} afterwards Undone in the opposite order, each whatever the others do.
 */

/**
 * Runs `play` and sets the exit code: 0 every claim held, 1 one did not or something broke, 3 time was up.
 *
 * @param {{ title: string, minutes: number }} bounds
 * @param {(stage: Stage) => Promise<void>} play
 */
export async function perform({ title, minutes }, play) {
  /** @type {(() => Promise<unknown>)[]} */
  const undo = [];
  let [held, failed] = [0, 0];
  const start = performance.now();
  const say = (/** @type {string} */ text) =>
    void process.stdout.write(`[${((performance.now() - start) / 1000).toFixed(0).padStart(4)} s] ${text}\n`);
  /** @type {Stage} */
  const stage = {
    say,
    prove(claim, holds, figure) {
      if (holds) held += 1;
      else failed += 1;
      say(`${holds ? 'ok  ' : 'FAIL'} ${claim}${figure === undefined ? '' : `: ${figure}`}`);
    },
    afterwards: (step) => void undo.push(step),
  };
  let ending = false;
  const finish = async (/** @type {number} */ code) => {
    if (ending) return;
    ending = true;
    say('cleaning up');
    setTimeout(() => process.exit(3), CLEAN_UP_MS).unref();
    for (const step of undo.reverse()) {
      await step().catch((error) => {
        failed += 1;
        say(`FAIL clean-up: ${String(error)}`);
      });
    }
    say(`${title}: ${held} proved, ${failed} failed`);
    process.exit(code !== 0 ? code : failed > 0 ? 1 : 0);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => void finish(1));
  setTimeout(() => {
    say(`FAIL not finished after ${minutes} minutes`);
    failed += 1;
    void finish(3);
  }, minutes * 60_000).unref();
  try {
    await play(stage);
    await finish(0);
  } catch (error) {
    failed += 1;
    say(`FAIL ${error instanceof Error ? error.message : String(error)}`);
    await finish(1);
  }
}
