/** The pure core of governance: facts in, decisions out. It imports nothing but itself and knows no clock, network or secret. */
export * from './account.js';
export * from './capability.js';
export { exposedName, itemName, type Catalogue, type CatalogueItem, type EntryKind } from './catalogue.js';
export * from './ceiling.js';
export * from './compile.js';
export * from './decision.js';
export {
  DIAGNOSTIC_CODES,
  type Diagnostic,
  type DiagnosticCode,
  type RelatedPlace,
  type Severity,
} from './diagnostic.js';
export * from './diff.js';
export type { DataSubject, Effect } from './diff-effect.js';
export { MAX_REPRESENTATIVES } from './diff-principals.js';
export type * from './document.js';
export * from './evaluate.js';
export * from './explain.js';
export { grantIdentity, type Grant } from './grant.js';
export { omitFields } from './omit.js';
export * from './pointer.js';
export { buildRuleset, entryOf, type GovernedEntry, type Policy, type Ruleset } from './policy.js';
export * from './principal.js';
export * from './selector.js';
export * from './visible.js';
export * from './who-can.js';
