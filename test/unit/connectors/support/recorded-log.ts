import { type EventLog, type Fields, type Level } from '../../../../src/logging/event-log.js';

export interface Recorded {
  readonly level: Level;
  readonly event: string;
  readonly fields: Fields | undefined;
  readonly cause?: unknown;
}

/** Keeps what was logged, and lets a test wait for an event instead of sleeping. */
export class RecordedLog implements EventLog {
  readonly lines: Recorded[] = [];
  readonly #waiting = new Set<() => void>();

  debug = (event: string, fields?: Fields): void => this.#add({ level: 'DEBUG', event, fields });
  info = (event: string, fields?: Fields): void => this.#add({ level: 'INFO', event, fields });
  warning = (event: string, fields?: Fields): void => this.#add({ level: 'WARNING', event, fields });
  error = (event: string, fields?: Fields, cause?: unknown): void =>
    this.#add({ level: 'ERROR', event, fields, cause });

  named(event: string): Recorded[] {
    return this.lines.filter((line) => line.event === event);
  }

  /** Resolves when a line fits, also one that is there already. */
  async until(fits: (line: Recorded) => boolean): Promise<Recorded> {
    for (;;) {
      const found = this.lines.find(fits);
      if (found) return found;
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  #add(line: Recorded): void {
    this.lines.push(line);
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}
