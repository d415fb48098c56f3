import { ConsoleLogger } from '@nestjs/common';
import type { CallContext } from './call-context.js';
import type { EventLog, Fields, Level } from './event-log.js';
import { framesOf } from './exception.js';
import { JsonLines, type LineIdentity } from './json-lines.js';
import { levelOf, severity } from './levels.js';
import type { LineSink } from './line-sink.js';
import { redactText } from './redaction.js';
import type { Timestamps } from './timestamps.js';

export interface JsonLoggerOptions extends LineIdentity {
  readonly sink: LineSink;
  /** Least severe level that is written, by its Python name. */
  readonly level: string;
  readonly timestamps?: Timestamps;
}

/**
 * The process's only voice. Our code speaks through `eventLog`; Nest, which takes this class for its own logger, through
 * the inherited methods, whose texts are not ours and are redacted. Nothing here throws.
 */
export class JsonLogger extends ConsoleLogger {
  readonly #lines: JsonLines;
  readonly #sink: LineSink;
  readonly #threshold: number;
  #refused = 0;

  constructor({ sink, level, timestamps, ...identity }: JsonLoggerOptions) {
    // All levels: the threshold is ours, and Nest's default would come from an environment variable of its own.
    super({ json: true, colors: false, logLevels: ['verbose', 'debug', 'log', 'warn', 'error', 'fatal'] });
    this.#lines = new JsonLines(identity, timestamps);
    this.#sink = sink;
    this.#threshold = severity(levelOf(level));
  }

  /** What a class logs with, under the name of its folder (`mcp_corp.tools`). */
  eventLog(name: string): EventLog {
    return {
      debug: (event, fields) => this.record('DEBUG', name, event, fields),
      info: (event, fields) => this.record('INFO', name, event, fields),
      warning: (event, fields) => this.record('WARNING', name, event, fields),
      error: (event, fields, cause) => this.record('ERROR', name, event, fields, cause),
    };
  }

  record(level: Level, logger: string, event: string, fields?: Fields, cause?: unknown): void {
    if (severity(level) < this.#threshold) return;
    if (!this.#sink.write(this.#lines.format(level, logger, event, fields, cause))) {
      this.#refused += 1;
      return;
    }
    if (this.#refused === 0) return;
    const lines = this.#refused;
    this.#refused = 0;
    this.record('WARNING', 'mcp_corp.logging', 'log_lines_refused', { lines });
  }

  /** The line that `record` would write, for a sink of its own; of the call in `context`, or else of the current one. */
  format(level: Level, logger: string, event: string, fields?: Fields, context?: CallContext | null): string {
    return this.#lines.format(level, logger, event, fields, undefined, context);
  }

  /** Resolves when everything recorded so far is written, or after `milliseconds`; says which. */
  flush(milliseconds: number): Promise<boolean> {
    return this.#sink.flush(milliseconds);
  }

  /** Nest's start-up lines (modules, routes) say nothing to an operator. */
  override log(message: unknown, ...rest: unknown[]): void {
    this.#foreign('DEBUG', message, rest);
  }

  override error(message: unknown, ...rest: unknown[]): void {
    this.#foreign('ERROR', message, rest);
  }

  override warn(message: unknown, ...rest: unknown[]): void {
    this.#foreign('WARNING', message, rest);
  }

  override debug(message: unknown, ...rest: unknown[]): void {
    this.#foreign('DEBUG', message, rest);
  }

  override verbose(message: unknown, ...rest: unknown[]): void {
    this.#foreign('DEBUG', message, rest);
  }

  override fatal(message: unknown, ...rest: unknown[]): void {
    this.#foreign('CRITICAL', message, rest);
  }

  /** Nest appends the context (its class's name) as the last text, and a stack as a text before it. */
  #foreign(level: Level, message: unknown, rest: readonly unknown[]): void {
    if (severity(level) < this.#threshold) return;
    const last = rest.at(-1);
    const context = typeof last === 'string' && !isStack(last) ? last : this.context;
    const logger = context !== undefined && /^[\w.:-]{1,64}$/.test(context) ? `nest.${context}` : 'nest';
    const values: unknown[] = [message, ...rest];
    const cause = values.find((value) => value instanceof Error);
    const stack = rest.find((value) => typeof value === 'string' && isStack(value));
    const fields: Record<string, unknown> = {};
    if (cause === undefined && typeof stack === 'string') fields.frames = framesOf(stack, '');
    if (typeof message === 'string') return this.record(level, logger, redactText(message), fields, cause);
    if (cause === undefined) fields.detail = typeof message === 'function' ? message.name : message;
    this.record(level, logger, cause === undefined ? 'framework_message' : 'framework_error', fields, cause);
  }
}

const isStack = (text: string) => /\n\s+at /.test(text);
