import type { Caller, CallKind, McpCall } from './call.js';
import type { CompiledEntry } from './catalogue-entry.js';
import type { Challenge } from './edge/challenge.js';
import type { CallEnding, CallSpan, ParentSpan } from './observation.js';

/** The ordered interceptors of every call: audit → decide → validate → consume. Bound in app.module.ts, in this order. */
export const CALL_STEPS = Symbol('CALL_STEPS');

/** Entries that are not classes, such as the tools of an upstream MCP server. */
export interface CatalogueSource {
  entries(): readonly CompiledEntry[];
}
export const CATALOGUE_SOURCES = Symbol('CATALOGUE_SOURCES');

/** Which entries a caller sees. The default is everything. Throws a CallError when the caller may not list at all. */
export interface Visibility {
  view(caller: Caller, signal: AbortSignal): Promise<CatalogueView> | CatalogueView;
}

export interface CatalogueView {
  /** Equal for callers with the same view, so that views are rendered once; `all` for everything. */
  readonly key: string;
  readonly sees: (entry: CompiledEntry) => boolean;
  /** The definition as this view shows it; absent = as it was compiled. */
  readonly shows?: (entry: CompiledEntry) => CompiledEntry['definition'];
}
export const VISIBILITY = Symbol('VISIBILITY');

/** A list, or a completion from it, that its caller was refused. */
export interface RefusedList {
  readonly kind: CallKind | 'template';
  readonly caller: Caller;
  readonly code: string;
  /** The id that the caller was told, as of a call. */
  readonly correlationId: string;
  /** Facts for the record. Codes and names only. */
  readonly notes?: Readonly<Record<string, string | null>>;
}

/** Told of every list that is refused: a list is no call, so no step sees it. */
export interface ListJournal {
  refused(list: RefusedList): void;
}
export const LIST_JOURNAL = Symbol('LIST_JOURNAL');

/**
 * Told of every call that the audit has accepted, when its record ends: exactly once. Must return at once and never throw.
 * What nobody binds costs one look at a property.
 */
export interface CallObserver {
  ended(call: McpCall, ending: CallEnding, durationSeconds: number): void;
}
export const CALL_OBSERVER = Symbol('CALL_OBSERVER');

/** Makes the span of each call. Bound only where calls are traced. */
export interface CallTracer {
  begin(entry: CompiledEntry, parent: ParentSpan | undefined): CallSpan;
}
export const CALL_TRACER = Symbol('CALL_TRACER');

/** Asked about every message before the protocol sees it. Not bound = nobody is challenged. */
export interface Challenger {
  /** Public URL of /mcp; absent = what the client called it. */
  readonly resource?: string;
  /** Undefined: let it in. Rejects only when `signal` is aborted. */
  challenge(caller: Caller, signal: AbortSignal): Promise<Challenge | undefined>;
  /** A request that was not a call has been refused: calls are in the audit. */
  refused(code: string, requestId: string): void;
  metadata(): Promise<{ readonly authorizationServers: readonly string[]; readonly scopes: readonly string[] }>;
}
export const CHALLENGER = Symbol('CHALLENGER');

/** Where a proxy says whose certificate it has verified: a `CertificateHeader`. Not bound = no header says so. */
export const CERTIFICATE_HEADER = Symbol('CERTIFICATE_HEADER');
