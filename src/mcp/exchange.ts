import { CallCut, type CutReason } from './cancellation.js';

/**
 * One HTTP request on /mcp, from its admission until nothing runs for it any more: the answer is out of our hands (or its
 * reader is gone) and every call that was begun for it has settled. Only then does it leave the gate, so that a drain
 * waits for the audit of a call whose client has already hung up.
 */
export class Exchange {
  #controller: AbortController | undefined;
  #cut: CallCut | undefined;
  #holds = 1;

  constructor(
    private readonly leave: (exchange: Exchange) => void,
    /** Calls that it counts for: a batch counts for each of its messages. */
    public weight = 1,
  ) {}

  /** Aborted when the client disconnects or the process cuts what is left; its reason is a `CallCut`. */
  get signal(): AbortSignal {
    // Made when somebody asks: lists and errors never do.
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#cut !== undefined) this.#controller.abort(this.#cut);
    }
    return this.#controller.signal;
  }

  get isCut(): boolean {
    return this.#cut !== undefined;
  }

  cut(reason: CutReason): void {
    if (this.#cut !== undefined) return;
    this.#cut = new CallCut(reason);
    this.#controller?.abort(this.#cut);
  }

  /** Something runs for this exchange; `release` must be called exactly once for it. */
  hold(): void {
    this.#holds++;
  }

  release(): void {
    if (--this.#holds === 0) this.leave(this);
  }
}
