/** Why a call was cut: its caller went away, or the process is stopping. The audit's `reason`. */
export type CutReason = 'cancelled' | 'shutdown';

/** `signal.reason` of every call that `mcp` cuts. An Error, so that whoever rethrows a reason throws an Error. */
export class CallCut extends Error {
  override readonly name = 'CallCut';

  constructor(readonly code: CutReason) {
    super(code);
  }
}

/** True when `error` is what the abort of `signal` led to, and not a fault of its own. */
export function isCut(error: unknown, signal: AbortSignal): boolean {
  if (!signal.aborted) return false;
  return error === signal.reason || error instanceof CallCut || nameOf(error) === 'AbortError';
}

/** Not `instanceof Error`: what Node itself throws may come from another realm. */
function nameOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'name' in error ? error.name : undefined;
}
