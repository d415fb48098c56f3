/** Where lines go: stdout, stderr or a file. The interface that the logger and the audit share. */
export interface LineSink {
  /**
   * Hands over one line (without its newline). Never throws. False: the line was refused, because more than the bound
   * is still unwritten or because the sink has failed for good.
   */
  write(line: string): boolean;
  /** Bytes handed over whose write has not been confirmed yet. */
  readonly unwrittenBytes: number;
  /** Set after a write error that is not passing (closed pipe, full disk), until a later write succeeds. */
  readonly failure: { readonly code: string; readonly at: number } | undefined;
  /** Resolves when everything handed over so far is confirmed, or after `milliseconds`; says which. */
  flush(milliseconds: number): Promise<boolean>;
}
