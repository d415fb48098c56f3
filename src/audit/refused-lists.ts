import type { RefusedList } from '../mcp/ports.js';
import { members, type Members } from './audit-record.js';
import { recordableClient } from './client-name.js';
import { recordableCode } from './outcome.js';

/**
 * Law: a list that is refused is in the trail, and nobody can fill the trail with it. Whoever has no credential may ask as
 * often as he likes, so at most this many are written a minute; the rest is counted, and the next record says how many. A
 * list runs nothing: its one record is start and end at once.
 */
const MOST_A_MINUTE = 60;
const MINUTE_MS = 60_000;

export const LIST_REFUSED = 'list_refused';
export const REFUSALS_NOT_WRITTEN = 'list_refusals_not_written';

const LISTS = { tool: 'tools', resource: 'resources', template: 'resource_templates', prompt: 'prompts' } as const;

export class RefusedLists {
  #minuteBegan = -Infinity;
  #written = 0;
  #notWritten = 0;

  constructor(
    private readonly write: (event: string, members: Members, correlationId?: string) => void,
    private readonly replica: string,
    /** Monotonic clock, milliseconds. */
    private readonly now: () => number = () => performance.now(),
  ) {}

  refused({ kind, caller, code, correlationId, notes }: RefusedList): void {
    const now = this.now();
    if (now - this.#minuteBegan >= MINUTE_MS) {
      this.#minuteBegan = now;
      this.#written = 0;
    }
    if (this.#written >= MOST_A_MINUTE) {
      this.#notWritten += 1;
      return;
    }
    this.#written += 1;
    const said = {
      list: LISTS[kind],
      client: recordableClient(caller.client),
      replica: this.replica,
      result: 'denied',
      reason: recordableCode(code),
      ...notes,
      ...this.#untold(),
    };
    this.write(LIST_REFUSED, members(said), correlationId);
  }

  /** At the end of the process: what no record has said yet. */
  close(): void {
    if (this.#notWritten > 0) this.write(REFUSALS_NOT_WRITTEN, members({ replica: this.replica, ...this.#untold() }));
  }

  #untold(): { readonly not_written?: number } {
    const notWritten = this.#notWritten;
    this.#notWritten = 0;
    return notWritten === 0 ? {} : { not_written: notWritten };
  }
}
