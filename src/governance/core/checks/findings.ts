import type { Catalogue, Mapping } from '../catalogue.js';
import type { Diagnostic } from '../diagnostic.js';
import type { PolicyDocument } from '../document.js';

/** Everything a check may look at. Each check is a pure function from it to findings; all are collected. */
export interface CheckedArtefact {
  readonly document: PolicyDocument;
  readonly catalogue: Catalogue;
  readonly mappings: readonly Mapping[];
  readonly options: CompileOptions;
}

export interface CompileOptions {
  /** What really exists, as far as it is known. */
  readonly catalogue?: Catalogue;
  /** `serve` refuses an issuer that nobody could ever pass; `validate` warns. Default `validate`. */
  readonly purpose?: 'validate' | 'serve';
  /** Schemes that some credential resolver knows. Default `env` and `file`. */
  readonly secretSchemes?: readonly string[];
}

export type Check = (artefact: CheckedArtefact) => readonly Diagnostic[];
