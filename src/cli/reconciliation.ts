/**
 * Law: every call in the audit has one start and one end (architecture §7). What has no partner is named, by correlation
 * id, name and replica. A second start or end of a call has no partner either, and is named the same way.
 *
 * Only what has no partner yet is kept, so memory follows the calls in flight and not the length of the trail; files may
 * come in any order as long as what is open between them fits the bound.
 */
export interface AuditRecord {
  readonly correlation_id: string;
  /** Name of the tool, the resource or the prompt. */
  readonly tool: string;
  readonly replica: string | null;
  readonly timestamp: string | null;
}

export interface Reconciliation {
  /** Calls with their start and their end. */
  readonly complete: number;
  readonly starts_without_end: readonly AuditRecord[];
  readonly ends_without_start: readonly AuditRecord[];
  /** Notes in the trail itself that records or lines were lost (`audit_trail_interrupted`). */
  readonly interruptions: number;
  /** Lines that are no JSON object, such as one that a killed process left half written. */
  readonly unreadable_lines: number;
}

/** More records without a partner than may be kept: the trail cannot be judged. */
export class TooManyUnmatched extends Error {
  override readonly name = 'TooManyUnmatched';
  constructor(readonly limit: number) {
    super(`more than ${limit} records without a partner; give whole files, oldest first`);
  }
}

/** Some 300 bytes each. */
export const MAX_UNMATCHED = 500_000;
/** An outsider's text has no place in the names; what we write is far shorter. */
const MAX_TEXT = 256;

/** Names and fields of the audit's records; the folder `audit` writes them and a test compares the two. */
export const AUDIT_EVENTS: ReadonlyMap<string, { readonly ends: boolean; readonly field: string }> = new Map([
  ['tool_invocation_started', { ends: false, field: 'tool' }],
  ['tool_invocation_completed', { ends: true, field: 'tool' }],
  ['resource_read_started', { ends: false, field: 'resource' }],
  ['resource_read_completed', { ends: true, field: 'resource' }],
  ['prompt_rendered_started', { ends: false, field: 'prompt' }],
  ['prompt_rendered_completed', { ends: true, field: 'prompt' }],
]);
const INTERRUPTED = 'audit_trail_interrupted';
const WORTH_PARSING = /_started"|_completed"|audit_trail_interrupted"/;

export class Reconciler {
  readonly #starts = new Map<string, AuditRecord[]>();
  readonly #ends = new Map<string, AuditRecord[]>();
  #unmatched = 0;
  #complete = 0;
  #interruptions = 0;
  #unreadable = 0;

  constructor(private readonly limit: number = MAX_UNMATCHED) {}

  /** One line of the log or of the audit file. What is no audit record is passed over. @throws TooManyUnmatched */
  line(text: string): void {
    // Container platforms put their own words before the object.
    const begin = text.indexOf('{');
    if (begin < 0) {
      if (text.trim() !== '') this.#unreadable += 1;
      return;
    }
    if (!text.trimEnd().endsWith('}')) {
      this.#unreadable += 1;
      return;
    }
    if (!WORTH_PARSING.test(text)) return;
    const line = objectIn(text.slice(begin));
    if (line === undefined) this.#unreadable += 1;
    else this.#record(line);
  }

  /** A line that was too long to be one of ours. */
  skipped(): void {
    this.#unreadable += 1;
  }

  result(): Reconciliation {
    return {
      complete: this.#complete,
      starts_without_end: [...this.#starts.values()].flat(),
      ends_without_start: [...this.#ends.values()].flat(),
      interruptions: this.#interruptions,
      unreadable_lines: this.#unreadable,
    };
  }

  #record(line: Readonly<Record<string, unknown>>): void {
    const { message } = line;
    if (message === INTERRUPTED && (isPositive(line['lost_records']) || isPositive(line['lost_lines']))) {
      this.#interruptions += 1;
    }
    const event = typeof message === 'string' ? AUDIT_EVENTS.get(message) : undefined;
    const id = textOf(line['correlation_id']);
    if (event === undefined || id === null) return;
    const [mine, partners] = event.ends ? [this.#ends, this.#starts] : [this.#starts, this.#ends];
    const waiting = partners.get(id);
    if (waiting !== undefined) {
      waiting.pop();
      if (waiting.length === 0) partners.delete(id);
      this.#unmatched -= 1;
      this.#complete += 1;
      return;
    }
    if (this.#unmatched >= this.limit) throw new TooManyUnmatched(this.limit);
    this.#unmatched += 1;
    const record: AuditRecord = {
      correlation_id: id,
      tool: textOf(line[event.field]) ?? '',
      replica: textOf(line['replica']),
      timestamp: textOf(line['timestamp']),
    };
    const same = mine.get(id);
    if (same === undefined) mine.set(id, [record]);
    else same.push(record);
  }
}

/** Every call has both its records, and the trail says of no hole. */
export function isWhole({ starts_without_end, ends_without_start, interruptions }: Reconciliation): boolean {
  return starts_without_end.length === 0 && ends_without_start.length === 0 && interruptions === 0;
}

function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  } catch {
    return undefined;
  }
}

const isPositive = (value: unknown): boolean => typeof value === 'number' && value > 0;

/** Without control characters: it may be shown on a terminal. */
function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value.slice(0, MAX_TEXT).replace(/\p{Cc}/gu, '?') : null;
}
