import type { Caller } from './call.js';
import type { CompiledEntry } from './catalogue-entry.js';
import type { Challenge } from './edge/challenge.js';

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
