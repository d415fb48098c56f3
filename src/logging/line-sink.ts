/** Where lines go: stdout, stderr or a file. The interface that the logger and the audit share. */
export interface LineSink {
  /**
   * Hands over one line (without its newline). Never throws. False: the line was refused, because more than the bound
   * is still unwritten or because the sink has failed for good. `reserve` lets a line that ends something already begun
   * pass a full bound, into a small reserve kept for such lines.
   */
  write(line: string, reserve?: boolean): boolean;
  /** Bytes handed over whose write has not been confirmed yet. */
  readonly unwrittenBytes: number;
  /** Lines that were accepted and then lost in a failed write. Refused lines are the caller's to count. */
  readonly lostLines?: number;
  /** Set after a write error that is not passing (closed pipe, full disk), until a later write succeeds. */
  readonly failure: { readonly code: string; readonly at: number } | undefined;
  /** Resolves when everything handed over so far is confirmed, or after `milliseconds`; says which. */
  flush(milliseconds: number): Promise<boolean>;
}
