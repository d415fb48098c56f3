import type { EventLog, Fields, Level } from '../../../../src/logging/event-log.js';

export interface LoggedEvent {
  readonly level: Level;
  readonly event: string;
  readonly fields: Fields;
  readonly cause?: unknown;
}

/** Keeps what was logged, in order. */
export class RecordingLog implements EventLog {
  readonly lines: LoggedEvent[] = [];

  debug(event: string, fields: Fields = {}): void {
    this.lines.push({ level: 'DEBUG', event, fields });
  }

  info(event: string, fields: Fields = {}): void {
    this.lines.push({ level: 'INFO', event, fields });
  }

  warning(event: string, fields: Fields = {}): void {
    this.lines.push({ level: 'WARNING', event, fields });
  }

  error(event: string, fields: Fields = {}, cause?: unknown): void {
    this.lines.push({ level: 'ERROR', event, fields, cause });
  }

  named(event: string): LoggedEvent[] {
    return this.lines.filter((line) => line.event === event);
  }
}
