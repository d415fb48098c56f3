import type { Pointer } from './pointer.js';

/** Closed: spec §2.5, its §9.10, and what issue 4 adds. The severity belongs to the code, except for `issuer_incomplete`. */
export const DIAGNOSTIC_CODES = [
  'yaml_syntax',
  'schema_violation',
  'duplicate_id',
  'unknown_capability_in_tool',
  'claim_mapping_expected',
  'unknown_issuer_in_grant',
  'attribute_not_declared',
  'unknown_capability_in_grant',
  'unknown_account_in_grant',
  'ambiguous_grant',
  'tool_not_in_catalog',
  'capability_not_realized',
  'unused_account',
  'catalog_tool_unmapped',
  // spec §9.10
  'duplicate_tool_mapping',
  'dn_mapping_expected',
  'issuer_incomplete',
  'exposed_name_too_long',
  'unknown_secret_scheme',
  'insecure_url',
  'unknown_upstream_in_catalog',
  // issue 4
  'omit_unknown_field',
  'omit_not_enforceable',
  'subject_not_available',
  'part_not_mapped',
  'shared_issuer_secret',
] as const;
export type DiagnosticCode = (typeof DIAGNOSTIC_CODES)[number];

export type Severity = 'error' | 'warning';

export interface RelatedPlace {
  readonly path: Pointer;
  readonly note: string;
}

/** One finding. The message names ids and fields of the artefact, never a secret reference or the value of a secret. */
export interface Diagnostic {
  readonly severity: Severity;
  readonly code: DiagnosticCode;
  readonly message: string;
  readonly path: Pointer;
  readonly related: readonly RelatedPlace[];
}

type Report = (code: DiagnosticCode, path: Pointer, message: string, ...related: readonly RelatedPlace[]) => Diagnostic;

export const error: Report = (code, path, message, ...related) => ({ severity: 'error', code, message, path, related });
export const warning: Report = (code, path, message, ...related) => ({
  severity: 'warning',
  code,
  message,
  path,
  related,
});
