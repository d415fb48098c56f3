// @ts-check
/** Callers that go on until they are told to stop, and remember every call that was not answered. */
import { setTimeout as delay } from 'node:timers/promises';
import { openSession, toolFailure } from '../../scripts/load/mcp-session.mjs';

const MAX_REMEMBERED = 20;

export class ContinuousLoad {
  #running = true;
  #calls = 0;
  #failed = 0;
  /** @type {string[]} */
  #failures = [];
  /** @type {Promise<void>[]} */
  #callers;

  /** @param {{ url: string, tool: string, identificador: string, callers: number, pauseMs: number, authorization?: string }} load */
  constructor(load) {
    this.#callers = Array.from({ length: load.callers }, () => this.#call(load));
  }

  /** Calls and failures so far. */
  get told() {
    return { calls: this.#calls, failed: this.#failed, failures: this.#failures };
  }

  async stop() {
    this.#running = false;
    await Promise.all(this.#callers);
    return this.told;
  }

  /** @param {{ url: string, tool: string, identificador: string, pauseMs: number, authorization?: string }} load */
  async #call({ url, tool, identificador, pauseMs, authorization }) {
    /** @type {import('../../scripts/load/mcp-session.mjs').Session | undefined} */
    let session;
    while (this.#running) {
      /** @type {string | undefined} */
      let failure;
      try {
        session ??= await openSession(url, { timeoutMs: 20_000, authorization });
        failure = toolFailure(await session.call(tool, { identificador }));
      } catch (error) {
        failure = error instanceof Error ? error.message : String(error);
        session?.destroy();
        session = undefined;
      }
      this.#calls += 1;
      if (failure !== undefined) {
        this.#failed += 1;
        if (this.#failures.length < MAX_REMEMBERED) this.#failures.push(`${new Date().toISOString()} ${failure}`);
      }
      await delay(pauseMs);
    }
    await session?.close();
  }
}
