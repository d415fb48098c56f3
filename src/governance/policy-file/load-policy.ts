/**
 * From text to a compiled policy, in three steps that each stop the next: YAML, schema, meaning (spec §2.4). Nothing here
 * contacts anything; every finding carries the place where it stands.
 */
import { createHash } from 'node:crypto';
import {
  compile,
  type CompileOptions,
  type Diagnostic,
  type Policy,
  type PolicyDocument,
  type RelatedPlace,
} from '../core/index.js';
import { ARTEFACT_SCHEMA } from './artefact-schema.js';
import { violations } from './json-schema.js';
import type { Locate, Position } from './positions.js';
import { readYaml } from './yaml-text.js';

export interface LocatedDiagnostic extends Diagnostic {
  /** Absent when the pointer leads to nothing (a section that was left out). */
  readonly position?: Position;
  readonly related: readonly LocatedPlace[];
}

export interface LocatedPlace extends RelatedPlace {
  readonly position?: Position;
}

export interface LoadedPolicy {
  /** First 12 hex digits of the SHA-256 of the text (spec §3.1). */
  readonly version: string;
  /** Present when the schema accepted it, also when its meaning has errors. */
  readonly document?: PolicyDocument;
  /** Absent when any diagnostic is an error. */
  readonly policy?: Policy;
  readonly diagnostics: readonly LocatedDiagnostic[];
  readonly locate: Locate;
}

export function loadPolicy(text: string, options: CompileOptions = {}): LoadedPolicy {
  const version = policyVersion(text);
  const reading = readYaml(text);
  if (!reading.ok) {
    const diagnostics = reading.problems.map(({ message, position }): LocatedDiagnostic => ({
      severity: 'error',
      code: 'yaml_syntax',
      message,
      path: '',
      related: [],
      ...(position && { position }),
    }));
    return { version, diagnostics, locate: () => undefined };
  }
  const { value, locate } = reading;
  const broken = violations(ARTEFACT_SCHEMA, value);
  if (broken.length > 0) {
    const diagnostics = broken.map(({ path, message }): Diagnostic => ({
      severity: 'error',
      code: 'schema_violation',
      message,
      path,
      related: [],
    }));
    return { version, diagnostics: diagnostics.map((diagnostic) => located(diagnostic, locate)), locate };
  }
  // The schema has just said so.
  const document = value as PolicyDocument;
  const { policy, diagnostics } = compile(document, options);
  return {
    version,
    document,
    ...(policy && { policy }),
    diagnostics: diagnostics.map((diagnostic) => located(diagnostic, locate)),
    locate,
  };
}

export const policyVersion = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12);

function located(diagnostic: Diagnostic, locate: Locate): LocatedDiagnostic {
  return {
    ...withPosition(diagnostic, locate),
    related: diagnostic.related.map((place) => withPosition(place, locate)),
  };
}

function withPosition<Placed extends { readonly path: string }>(
  placed: Placed,
  locate: Locate,
): Placed & { readonly position?: Position } {
  const position = locate(placed.path);
  return position === undefined ? placed : { ...placed, position };
}
