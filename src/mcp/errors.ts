/** JSON-RPC codes that this server answers itself (mcp-protocol.md §1.3-17, §1.3-18). */
export const INVALID_PARAMS = -32602;

export interface CallErrorDetails {
  /** Machine-readable companions of the code (for example `retry_after_seconds`); goes into `_meta` or the error's `data`. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** How the audit calls it. A refusal of governance is `denied`. */
  readonly result?: 'failure' | 'denied';
  /** Present: the answer is this JSON-RPC error. Absent: a tool result with `isError` (for resources and prompts −32602 or −32603). */
  readonly jsonRpcCode?: number;
  /** The caller is answered exactly as if the name did not exist; code and result are for the audit alone. */
  readonly asUnknown?: boolean;
}

/**
 * The one class whose text reaches the caller. `code` is stable and goes to the audit as `reason`; the message is what
 * the model or its user reads. Everything else that is thrown is logged and masked.
 */
export class CallError extends Error {
  override readonly name = 'CallError';
  readonly data?: Readonly<Record<string, unknown>>;
  readonly result: 'failure' | 'denied';
  readonly jsonRpcCode?: number;
  readonly asUnknown: boolean;

  constructor(
    readonly code: string,
    message: string,
    details: CallErrorDetails = {},
  ) {
    super(message);
    this.data = details.data;
    this.result = details.result ?? 'failure';
    this.jsonRpcCode = details.jsonRpcCode;
    this.asUnknown = details.asUnknown ?? false;
  }
}
