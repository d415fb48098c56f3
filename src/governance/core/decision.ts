import type { AccountId } from './account.js';
import type { Charge } from './ceiling.js';
import type { Pointer } from './pointer.js';

/** Why a decision is what it is: the eight of spec §2.9 and the three of "whose data" (issue 4, point 6). Closed. */
export const REASON_CODES = [
  'granted',
  'capability_not_declared',
  'capability_not_realized',
  'no_grant_matches',
  'ambiguous_grant',
  'account_disabled',
  'subject_attribute_missing',
  'subject_not_allowed',
  'usage_unknown',
  'limit_exhausted',
  'distinct_subjects_exhausted',
] as const;
export type ReasonCode = (typeof REASON_CODES)[number];
export type DenialCode = Exclude<ReasonCode, 'granted'>;

export interface Reason<Code extends ReasonCode = ReasonCode> {
  readonly code: Code;
  /** A real place in the artefact; never empty. */
  readonly path: Pointer;
  /** Capability or account the reason is about. Never whose data was asked for. */
  readonly about: string;
}

/** Account and terms exist only here: a denial has nowhere to keep them. */
export interface Allow {
  readonly outcome: 'allow';
  readonly reason: Reason<'granted'>;
  readonly account: AccountId;
  /** Every grant that matched, in the order of the file. */
  readonly grants: readonly Pointer[];
  /** Everything that must be consumed, all or none, before the call runs. */
  readonly charges: readonly Charge[];
  /** Attributes to one of which the subject is bound; empty when some matching grant binds nobody. */
  readonly subjectEquals: readonly string[];
  /** Fields to leave out: what any matching grant leaves out. Sorted. */
  readonly omit: readonly string[];
}

export interface Deny {
  readonly outcome: 'deny';
  readonly reason: Reason<DenialCode>;
}

export type Decision = Allow | Deny;

export const deny = (code: DenialCode, path: Pointer, about: string): Deny => ({
  outcome: 'deny',
  reason: { code, path, about },
});
