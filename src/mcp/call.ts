import type { Round } from './asking/round.js';
import type { CallStream } from './call-stream.js';
import type { CallError } from './errors.js';
import type { CallSpan } from './observation.js';

export type CallKind = 'tool' | 'resource' | 'prompt';

/**
 * What a proxy says about the certificate of its client. `forged`: the header came from somebody who is no listed proxy, or
 * more than once.
 */
export type ForwardedCertificate = { readonly kind: 'vouched'; readonly text: string } | { readonly kind: 'forged' };

/** Who is asking, as far as the transport can tell. The credential is an argument and is kept nowhere else. */
export interface Caller {
  /** Value of the credential header without a leading `Bearer `; empty when the header is missing. */
  readonly credential: string;
  readonly certificate?: ForwardedCertificate;
  /** The edge has refused this request already, and only its audit is left to do: `decide` throws this. */
  readonly refused?: (requestId: string) => CallError;
  /** `name/version` as the client says it; unverified. */
  readonly client?: string;
  /** `Accept-Language` of the request. */
  readonly language?: string;
}

/** What a source's executor is given for one call: the structural twin of `resilience`'s RunOptions. */
export interface SourceOptions {
  readonly signal: AbortSignal;
  readonly deadline?: number;
  readonly account?: { readonly key: string; readonly secret: unknown };
  readonly touched: () => void;
}

/** One decision of governance: the call itself, or one part of a composite. */
export interface PartGrant {
  readonly allowed: boolean;
  /** Allowed, but it cannot be served: a stable code of governance, such as that of an unreadable credential. */
  readonly failed?: string;
  /** Account to use at each source, by source name; absent = the source's own credentials. */
  readonly accounts?: ReadonlyMap<string, { readonly key: string; readonly secret: unknown }>;
  /** When the call must be over at each source, as the executor's clock counts (milliseconds); absent = its own limit. */
  readonly deadlines?: ReadonlyMap<string, number>;
}

/** What inner steps tell the audit about the call. Codes and names only. */
export interface CallJournal {
  /** A source was really asked. */
  touched(source: string): void;
  /** How one part of a composite ended: `success`, a stable code, or a code of governance. */
  part(name: string, code: string): void;
  /** A fact of governance for the record (principal, account id, grant pointer, policy version). */
  note(field: string, value: string | number | boolean | null): void;
}

/**
 * One call on its walk: created by `mcp`, passed as the single argument through every step of CALL_STEPS, and handed to
 * the method as its context. Nothing of it outlives the call.
 */
export interface McpCall {
  readonly kind: CallKind;
  /** Name in the catalogue, or `unknown`: an outsider's text can be an identifier and is never recorded. */
  readonly name: string;
  readonly entry: CompiledEntry;
  /** Arguments as they came; `validate` replaces them by the parsed ones. */
  input: unknown;
  readonly correlationId: string;
  readonly traceId?: string;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  readonly journal: CallJournal & JournalRecord;
  /**
   * Canonical subject of the call, computed once from the raw arguments: the short form of the identifier.
   * Null when the entry has no subject. Throws the CallError of an identifier that cannot be parsed.
   */
  subject(): string | null;
  /** The decision for a part (or, without a name, for the call itself). Without governance everything is allowed. */
  part(name?: string): PartGrant;
  /** Filled in by `decide`; by default everything is allowed with the sources' own credentials. */
  grants: ReadonlyMap<string, PartGrant> | undefined;
  /** How the method's result was judged, set by a step that changes the result afterwards; absent = judge what comes. */
  judged?: 'success' | 'partial';
  /**
   * What to hand to the executor of `source`, in the name of a part where the call is a composite. Throws when that part
   * is not allowed: ask `part()` first.
   */
  options(source: string, part?: string, signal?: AbortSignal): SourceOptions;
  /** Progress and log messages to the caller while the call runs; absent outside of a protocol exchange. */
  readonly stream?: CallStream;
  /** Absent where calls are not traced. */
  readonly trace?: CallSpan;
  /** What the caller can be asked and has answered; absent when it cannot be asked. */
  readonly round?: Round;
}

/** What the journal has collected, for the audit to read. */
export interface JournalRecord {
  readonly sources: readonly string[];
  readonly parts: Readonly<Record<string, string>>;
  readonly notes: Readonly<Record<string, string | number | boolean | null>>;
}

/**
 * One tool, resource or prompt, compiled once at start. `definition` is what a list shows (JSON Schemas already made);
 * `run` walks CALL_STEPS and the method and answers with the protocol's result object.
 */
export interface CompiledEntry {
  readonly kind: CallKind;
  /** Tool or prompt name, or the resource's URI or URI template. */
  readonly name: string;
  readonly definition: Readonly<Record<string, unknown>>;
  /** Sources the entry needs. */
  readonly requires: readonly string[];
  /** Names of the tools whose decisions a composite needs. */
  readonly parts: readonly string[];
  /** Where in a composite's result the data of each part stand, as a dotted path; a part without one may be anywhere. */
  readonly partData?: Readonly<Record<string, string>>;
  /** Whether a call is about somebody; absent = not known. */
  readonly hasSubject?: boolean;
  /** `success` or `partial` of a result. */
  readonly outcome: (result: unknown) => 'success' | 'partial';
  /** Canonical subject of raw, unvalidated arguments; null when there is none. Throws a CallError. */
  readonly subject: (input: unknown) => string | null;
  /**
   * Only of what stands for the unknown: whom the call would be about if there were such an entry. Not recorded; governance
   * does with it what the audit does with `subject`, so that a name that is hidden takes no longer than one that is not there.
   */
  readonly subjectIfThere?: (input: unknown) => string | null;
  /** Checks and parses the arguments; throws the CallError `invalid_arguments`. */
  readonly validate: (input: unknown) => unknown;
  readonly run: (call: McpCall) => Promise<Readonly<Record<string, unknown>>>;
  /** Of a family of resources: the input of a read of `uri`; undefined when the URI is not of this family. */
  readonly address?: (uri: string) => unknown;
  /** Values that `completion/complete` offers, by argument. */
  readonly suggestions?: ReadonlyMap<string, readonly string[]>;
}
