import type { Fields } from '../../../src/logging/event-log.js';
import type { EventLog } from '../../../src/logging/event-log.js';
import { JsonLogger } from '../../../src/logging/json-logger.js';
import type { LineSink } from '../../../src/logging/line-sink.js';
import type { CallKind, McpCall } from '../../../src/mcp/call.js';
import { recordLine } from '../../../src/audit/audit.module.js';
import { AuditTrail, type AuditTrailOptions } from '../../../src/audit/audit-trail.js';
import { Pseudonyms } from '../../../src/audit/pseudonym.js';
import { TrailGap } from '../../../src/audit/trail-gap.js';

export const KEY = 'clave-secreta-de-prueba-a';

/** A sink in memory whose state the test sets. */
export class MemorySink implements LineSink {
  readonly lines: string[] = [];
  readonly reserved: boolean[] = [];
  failure: { code: string; at: number } | undefined;
  full = false;
  reserveFull = false;
  lostLines = 0;
  unwrittenBytes = 0;
  confirms = true;
  flushedWithin: number[] = [];

  write(line: string, reserve = false): boolean {
    if (reserve ? this.reserveFull : this.full) return false;
    this.lines.push(line);
    this.reserved.push(reserve);
    return true;
  }

  flush(milliseconds: number): Promise<boolean> {
    this.flushedWithin.push(milliseconds);
    return Promise.resolve(this.confirms);
  }

  get records(): Record<string, unknown>[] {
    return this.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  }
}

export class MemoryLog implements EventLog {
  readonly events: { readonly level: string; readonly event: string; readonly fields: Fields }[] = [];
  debug = (event: string, fields: Fields = {}): void => void this.events.push({ level: 'DEBUG', event, fields });
  info = (event: string, fields: Fields = {}): void => void this.events.push({ level: 'INFO', event, fields });
  warning = (event: string, fields: Fields = {}): void => void this.events.push({ level: 'WARNING', event, fields });
  error = (event: string, fields: Fields = {}): void => void this.events.push({ level: 'ERROR', event, fields });
}

export class HandClock {
  milliseconds = 1_000;
  readonly now = (): number => this.milliseconds;
}

export interface Bench {
  readonly trail: AuditTrail;
  readonly sink: MemorySink;
  readonly elsewhere: MemoryLog;
  readonly gap: TrailGap;
  readonly clock: HandClock;
}

/** A trail over memory; the lines are the product's own. */
export function bench(options: Partial<AuditTrailOptions> = {}): Bench {
  const sink = new MemorySink();
  const elsewhere = new MemoryLog();
  const clock = new HandClock();
  const gap = new TrailGap(elsewhere, clock.now);
  const logger = new JsonLogger({
    sink,
    level: 'CRITICAL',
    ...{ service: 'mcp-corp', version: '2.0.0', environment: 'local' },
  });
  const trail = new AuditTrail({
    sink,
    format: (event, members, call) => recordLine(logger, event, members, call),
    pseudonyms: new Pseudonyms(KEY),
    gap,
    production: true,
    replica: 'replica-1',
    now: clock.now,
    ...options,
  });
  return { trail, sink, elsewhere, gap, clock };
}

export interface CallSketch {
  readonly kind?: CallKind;
  readonly name?: string;
  readonly subject?: () => string | null;
  readonly outcome?: (result: unknown) => 'success' | 'partial';
  readonly signal?: AbortSignal;
  readonly client?: string;
  readonly traceId?: string;
  readonly input?: unknown;
}

let calls = 0;

export function callOf(sketch: CallSketch = {}): McpCall {
  const kind = sketch.kind ?? 'tool';
  const name = sketch.name ?? 'consultar_cliente';
  const sources: string[] = [];
  const parts: Record<string, string> = {};
  const notes: Record<string, string | number | boolean | null> = {};
  calls += 1;
  const subject = sketch.subject ?? (() => 'V16760320');
  return {
    kind,
    name,
    entry: {
      kind,
      name,
      definition: {},
      requires: [],
      parts: [],
      outcome: sketch.outcome ?? (() => 'success'),
      subject,
      validate: (input) => input,
      run: () => Promise.reject(new Error('not run here')),
    },
    input: sketch.input ?? {},
    correlationId: calls.toString(16).padStart(32, '0'),
    traceId: sketch.traceId,
    caller: { credential: 'secret-credential', client: sketch.client },
    signal: sketch.signal ?? new AbortController().signal,
    journal: {
      touched: (source) => void sources.push(source),
      part: (part, code) => void (parts[part] = code),
      note: (field, value) => void (notes[field] = value),
      sources,
      parts,
      notes,
    },
    subject,
    part: () => ({ allowed: true }),
    grants: undefined,
    options: () => ({ signal: new AbortController().signal, touched: () => undefined }),
  };
}
