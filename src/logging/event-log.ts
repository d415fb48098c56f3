/**
 * What the code logs with: an event name and its fields. The event names are the reference's (spec §8.2). Never pass an
 * identifier, a name, an e-mail address, a balance, a DSN or a secret; causes go through `cause`, which is redacted.
 */
export type Level = 'DEBUG' | 'INFO' | 'WARNING' | 'ERROR' | 'CRITICAL';

export type Fields = Readonly<Record<string, unknown>>;

export interface EventLog {
  debug(event: string, fields?: Fields): void;
  info(event: string, fields?: Fields): void;
  warning(event: string, fields?: Fields): void;
  /** `cause` is written as class, code and stack frames; its message only after redaction. */
  error(event: string, fields?: Fields, cause?: unknown): void;
}
