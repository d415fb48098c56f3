/**
 * What a method may tell its caller while it works; dropped when the caller cannot be told (it accepts no stream, asked
 * for no progress, or is gone). Never an identifier: clients log these.
 */
export interface CallStream {
  progress(progress: number, total?: number, message?: string): Promise<void>;
  log(level: 'debug' | 'info' | 'warning' | 'error', data: unknown, logger?: string): Promise<void>;
}
