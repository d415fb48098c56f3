import type { LineSink } from '../logging/line-sink.js';
import type { McpCall } from '../mcp/call.js';
import { CallError } from '../mcp/errors.js';
import type { CallObserver, RefusedList } from '../mcp/ports.js';
import { completedMembers, members, RECORDS, subjectMembers, type Members } from './audit-record.js';
import { outcomeOfError, outcomeOfValue, type Outcome } from './outcome.js';
import type { Pseudonyms } from './pseudonym.js';
import { RefusedLists } from './refused-lists.js';
import type { TrailGap } from './trail-gap.js';

/** One record as a line: the envelope, with the correlation and trace ids of `call`, and the record's members. */
export type FormatRecord = (
  event: string,
  members: Members,
  call?: Pick<McpCall, 'correlationId' | 'traceId'>,
) => string;

export interface AuditTrailOptions {
  readonly sink: LineSink;
  readonly format: FormatRecord;
  readonly pseudonyms: Pseudonyms;
  /** Told of every call that was refused and every record that was lost. */
  readonly gap: TrailGap;
  /** No call without its record: when the trail cannot be written, calls are refused. */
  readonly production: boolean;
  readonly observer?: CallObserver;
  /** Which process writes, among its replicas. */
  readonly replica: string;
  /** Facts of the moment that the start of a call has too, such as the version of the policy. */
  readonly startFacts?: () => Readonly<Record<string, string>>;
  /** Monotonic clock, milliseconds. */
  readonly now?: () => number;
}

export interface AuditFigures {
  /** Calls that have begun and not ended. */
  readonly open: number;
  /** Records handed over to the trail. */
  readonly records: number;
  /** Records that the trail does not hold: refused by it, or lost in a failed write (with `stdout`, lines of the log too). */
  readonly lostRecords: number;
  readonly refusedCalls: number;
  readonly unwrittenBytes: number;
  /** The last write failed, and none has succeeded since. */
  readonly failing: boolean;
}

/** Why the process, and not the call, ends what is still open. */
export type CutReason = 'shutdown' | 'internal_error';

/** The call that has begun and not yet ended. The first of its endings is written, the others write nothing. */
export interface OpenRecord {
  succeeded(value: unknown): void;
  failed(error: unknown): void;
}

/**
 * The law of the trail (architecture §7): every accepted call has exactly one start and one end, whatever becomes of it.
 * What has begun and not ended is in the set of open records; `cutOpen` ends what is left in it.
 */
export class AuditTrail {
  readonly #open = new Set<Open>();
  readonly #options: Required<Omit<AuditTrailOptions, 'observer'>>;
  readonly #observer: CallObserver | undefined;
  readonly #lists: RefusedLists;
  #cut = false;
  #records = 0;

  constructor(options: AuditTrailOptions) {
    this.#options = { now: () => performance.now(), startFacts: () => ({}), ...options };
    this.#observer = options.observer;
    const { sink, format, gap, replica, now } = this.#options;
    const write = (event: string, members: Members, correlationId?: string): void => {
      gap.note(sink, format);
      if (!sink.write(format(event, members, correlationId === undefined ? undefined : { correlationId })))
        gap.lost(sink);
    };
    this.#lists = new RefusedLists(write, replica, now);
  }

  /** One record for a list that was refused; a bounded number of them a minute. */
  refusedList(list: RefusedList): void {
    this.#lists.refused(list);
  }

  /** Calls that have begun and not ended. */
  get openCount(): number {
    return this.#open.size;
  }

  /** What an operator sees of the trail; counts are since the start. */
  figures(): AuditFigures {
    const { sink, gap } = this.#options;
    return {
      open: this.#open.size,
      records: this.#records,
      lostRecords: gap.lostRecords + (sink.lostLines ?? 0),
      refusedCalls: gap.refusedCalls,
      unwrittenBytes: sink.unwrittenBytes,
      failing: sink.failure !== undefined,
    };
  }

  /**
   * Writes the start of a call.
   * @throws CallError `audit_unavailable` in production when the trail cannot be written; `shutdown` after `cutOpen`.
   */
  begin(call: McpCall): OpenRecord {
    const { sink, format, pseudonyms, gap, production, replica, now, startFacts } = this.#options;
    if (this.#cut) throw new CallError('shutdown', 'El servidor se está deteniendo; la consulta no se ha ejecutado.');
    gap.note(sink, format);
    if (production && sink.failure !== undefined) throw this.#refuse();
    const startedAt = now();
    const subject = subjectMembers(call, pseudonyms, replica);
    const facts = members(startFacts());
    const started = facts === '' ? subject : `${subject},${facts}`;
    if (!sink.write(format(RECORDS[call.kind].started, started, call))) {
      if (production) throw this.#refuse();
      gap.lost(sink);
    } else {
      this.#records += 1;
    }
    const record = new Open(call, subject, startedAt, (outcome) => this.#end(record, outcome));
    this.#open.add(record);
    return record;
  }

  /** Ends every open record; what their calls do afterwards writes nothing. Gives the number of records that it ended. */
  cutOpen(reason: CutReason): number {
    this.#cut = true;
    const left = [...this.#open];
    for (const record of left) record.end({ result: reason === 'shutdown' ? 'cancelled' : 'failure', reason });
    return left.length;
  }

  /**
   * The last thing before the process ends. True when every record is confirmed; false when `milliseconds` were not
   * enough or some are lost, which is told elsewhere.
   */
  async flush(milliseconds: number): Promise<boolean> {
    const { sink, gap } = this.#options;
    this.#lists.close();
    const confirmed = await sink.flush(milliseconds);
    gap.close(sink, confirmed);
    return confirmed;
  }

  #end(record: Open, outcome: Outcome): void {
    this.#open.delete(record);
    const { sink, format, gap, now } = this.#options;
    const durationMs = now() - record.startedAt;
    const ended = completedMembers(record.call, record.subject, outcome, durationMs);
    if (sink.write(format(RECORDS[record.call.kind].completed, ended, record.call), true)) this.#records += 1;
    else gap.lost(sink);
    this.#observer?.ended(record.call, outcome, durationMs / 1000);
  }

  #refuse(): CallError {
    const { sink, gap } = this.#options;
    gap.refused(sink);
    return new CallError(
      'audit_unavailable',
      'El registro de auditoría no está disponible; la consulta no se ha ejecutado. Inténtalo de nuevo más tarde.',
    );
  }
}

class Open implements OpenRecord {
  #ended = false;

  constructor(
    readonly call: McpCall,
    readonly subject: Members,
    readonly startedAt: number,
    private readonly write: (outcome: Outcome) => void,
  ) {}

  end(outcome: Outcome): void {
    if (this.#ended) return;
    this.#ended = true;
    this.write(outcome);
  }

  succeeded(value: unknown): void {
    if (this.#ended) return;
    try {
      this.end(outcomeOfValue(this.call, value));
    } catch (error) {
      // An entry whose own `outcome` fails has failed: recorded here, masked and logged by the filter.
      this.failed(error);
      throw error;
    }
  }

  failed(error: unknown): void {
    if (!this.#ended) this.end(outcomeOfError(this.call, error));
  }
}
