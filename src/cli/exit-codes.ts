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

/** Ends a command with its exit code and a text for stderr. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';

  constructor(
    readonly exitCode: number,
    message: string,
  ) {
    super(message);
  }
}
