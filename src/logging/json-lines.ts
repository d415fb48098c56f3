import { callContext, type CallContext } from './call-context.js';
import type { Fields, Level } from './event-log.js';
import { describeCause } from './exception.js';
import { encodeField } from './json-value.js';
import { Timestamps } from './timestamps.js';

/**
 * One JSON object per line, its names in this order: timestamp, level, logger, message (the event), service, version,
 * environment, correlation_id and trace_id inside a call, the event's fields, exception (spec §8.1, defect A13).
 */
export interface LineIdentity {
  readonly service: string;
  readonly version: string;
  readonly environment: string;
}

/** What the collectors of container platforms take without cutting it (Docker: 16 KiB). */
export const MAX_LINE_BYTES = 16_384;
/** UTF-16 units of a line that cannot be too long in UTF-8, so that most lines need no counting. */
const SAFE_LENGTH = Math.floor(MAX_LINE_BYTES / 3);
const MAX_NAME = 128;
/** Room for the mark that says something was left out. */
const MARK = ',"truncated":true';

const RESERVED = new Set(['timestamp', 'level', 'logger', 'message', 'service', 'version', 'environment', 'exception']);

export class JsonLines {
  readonly #identity: string;
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(
    identity: LineIdentity,
    private readonly timestamps: Timestamps = new Timestamps(),
  ) {
    const { service, version, environment } = identity;
    this.#values = { service, version, environment };
    this.#identity = `,"service":${name(service)},"version":${name(version)},"environment":${name(environment)}`;
  }

  /** `context`: the call it belongs to, by default the current one, null for none. A line without its newline, at most `MAX_LINE_BYTES`. Never throws. */
  format(
    level: Level,
    logger: string,
    event: string,
    fields?: Fields,
    cause?: unknown,
    context: CallContext | null | undefined = callContext.getStore(),
  ): string {
    let head = `{"timestamp":"${this.timestamps.now()}","level":"${level}","logger":${name(logger)},"message":${name(event)}${this.#identity}`;
    if (context) {
      head += `,"correlation_id":${name(context.correlationId)}`;
      if (context.traceId !== undefined) head += `,"trace_id":${name(context.traceId)}`;
    }
    const tail = cause === undefined ? '' : `,"exception":${JSON.stringify(describeCause(cause))}`;
    const extra = fields === undefined ? [] : this.#encode(fields, context);
    const line = `${head}${extra.join('')}${tail}}`;
    if (line.length <= SAFE_LENGTH || Buffer.byteLength(line) <= MAX_LINE_BYTES) return line;
    return `${head}${fitting(extra, MAX_LINE_BYTES - Buffer.byteLength(head + tail))}${tail}}`;
  }

  #encode(fields: Fields, context: CallContext | null | undefined): string[] {
    const encoded: string[] = [];
    try {
      for (const [key, value] of Object.entries(fields)) {
        const text = encodeField(key, value);
        if (text === undefined) continue;
        const written = this.#nameFor(key, value, fields, context);
        if (written !== undefined) encoded.push(`,${name(written)}:${text}`);
      }
    } catch {
      // Fields that cannot even be listed; the event itself must still be told.
      encoded.push(',"fields":"[unreadable]"');
    }
    return encoded;
  }

  /** A name that the line has already gets a prefix; undefined when the line says the very same thing under it. */
  #nameFor(key: string, value: unknown, fields: Fields, context: CallContext | null | undefined): string | undefined {
    const ofCall =
      key === 'correlation_id' ? context?.correlationId : key === 'trace_id' ? context?.traceId : undefined;
    if (ofCall === undefined && !RESERVED.has(key)) return key;
    if (value === (ofCall ?? this.#values[key])) return undefined;
    let free = key;
    while (free in fields) free = `field_${free}`;
    return free;
  }
}

const name = (text: string) => JSON.stringify(text.length > MAX_NAME ? `${text.slice(0, MAX_NAME)}…` : text);

/** As many fields, in their order, as fit; a small one after a large one is still written. */
function fitting(extra: readonly string[], bytes: number): string {
  let room = bytes - MARK.length - 1;
  const kept = extra.filter((field) => {
    const size = Buffer.byteLength(field);
    if (size > room) return false;
    room -= size;
    return true;
  });
  return kept.join('') + MARK;
}
