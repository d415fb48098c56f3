/** One call of an upstream's tool, under the upstream's own name for it. */
export interface ToolCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Digest of the definition that the caller was shown; absent = whatever the upstream has now. */
  readonly pin?: string;
}

/** What passes through of a result. `_meta` does not: it would let an upstream speak in our name. */
export interface ToolResult {
  readonly content: readonly unknown[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
}

/** `changed`: the upstream's definition is not the pinned one any more; the call was not sent. */
export type ToolOutcome = { readonly kind: 'result'; readonly result: ToolResult } | { readonly kind: 'changed' };

/** What a call may use: one request on a session that it shares with others. */
export interface UpstreamLease {
  call(tool: ToolCall, signal: AbortSignal): Promise<ToolOutcome>;
}
