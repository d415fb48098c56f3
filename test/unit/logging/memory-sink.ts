import type { LineSink } from '../../../src/logging/line-sink.js';

/** Keeps what it is given, or refuses it. */
export class MemorySink implements LineSink {
  readonly lines: string[] = [];
  refusing = false;
  readonly unwrittenBytes = 0;
  readonly lostLines = 0;
  readonly failure = undefined;

  write(line: string): boolean {
    if (!this.refusing) this.lines.push(line);
    return !this.refusing;
  }

  async flush(): Promise<boolean> {
    return true;
  }

  get records(): Record<string, unknown>[] {
    return this.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  get last(): Record<string, unknown> {
    return this.records.at(-1) ?? {};
  }
}
