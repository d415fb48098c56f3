/** Exit codes of the command line (spec §5.3). `serve` uses those of the process, which agree. */
export const EXIT_CODES = {
  ok: 0,
  /** Diagnostics with errors, differences, failed expectations. */
  findings: 1,
  /** Wrong flags, or a file of expectations that cannot be understood. */
  usage: 2,
  /** A file that cannot be read. */
  unreachable: 3,
} as const;

/** Ends a command with its exit code and a text for stderr; with `--json`, an object for stdout instead. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';

  constructor(
    readonly exitCode: number,
    message: string,
    /** What a program reads beside `error`. */
    readonly data: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
  }
}
