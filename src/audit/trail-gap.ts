import type { EventLog, Fields } from '../logging/event-log.js';
import type { LineSink } from '../logging/line-sink.js';
import { members, type Members } from './audit-record.js';

const INTERVAL_MS = 1_000;

/**
 * What the trail does not hold: calls refused and records lost because it could not be written. Both are counted, told
 * elsewhere at most once a second, and noted in the trail itself when it can be written again, so that an auditor sees
 * where it has a hole. That note is also the attempt by which a failed sink finds out that it works again.
 */
export class TrailGap {
  #refusedCalls = 0;
  #lostRecords = 0;
  #lostLines = 0;
  #untold = false;
  #unnoted = false;
  #toldAt = -Infinity;
  #notedAt = -Infinity;

  constructor(
    /** Never the trail's own sink. */
    private readonly elsewhere: EventLog,
    /** Monotonic clock, milliseconds. */
    private readonly now: () => number = () => performance.now(),
  ) {}

  get refusedCalls(): number {
    return this.#refusedCalls;
  }

  get lostRecords(): number {
    return this.#lostRecords;
  }

  refused(sink: LineSink): void {
    this.#refusedCalls += 1;
    this.#grew(sink);
  }

  lost(sink: LineSink): void {
    this.#lostRecords += 1;
    this.#grew(sink);
  }

  /** Called before each record: notices lines that the sink lost, and notes the hole when it is time to try. */
  note(sink: LineSink, format: (event: string, members: Members) => string): void {
    const lostLines = sink.lostLines ?? 0;
    if (lostLines !== this.#lostLines) {
      this.#lostLines = lostLines;
      this.#grew(sink);
    }
    if (!this.#unnoted || this.now() - this.#notedAt < INTERVAL_MS) return;
    // A failed sink that still holds lines tries again by itself.
    if (sink.failure !== undefined && sink.unwrittenBytes > 0) return;
    this.#notedAt = this.now();
    this.#unnoted = !sink.write(format('audit_trail_interrupted', members(this.#totals(sink))));
  }

  /** At the end of the process: tells elsewhere what no report has held yet. */
  close(sink: LineSink, everythingConfirmed: boolean): void {
    if (this.#untold || !everythingConfirmed) this.#tell(sink);
  }

  #grew(sink: LineSink): void {
    this.#unnoted = true;
    this.#untold = true;
    if (this.now() - this.#toldAt >= INTERVAL_MS) this.#tell(sink);
  }

  #tell(sink: LineSink): void {
    this.#untold = false;
    this.#toldAt = this.now();
    this.elsewhere.error('audit_unavailable', {
      code: sink.failure?.code ?? null,
      unwritten_bytes: sink.unwrittenBytes,
      ...this.#totals(sink),
    });
  }

  /** Counted since the process started. */
  #totals(sink: LineSink): Fields {
    return {
      refused_calls: this.#refusedCalls,
      lost_records: this.#lostRecords,
      lost_lines: sink.lostLines ?? 0,
    };
  }
}
