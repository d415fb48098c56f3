import type { ConfigProblem, CrossCheckContext } from './problem.js';

/**
 * One block of variables, and the injection token of its settings. Properties carry `@Setting`, a transform unless they
 * are text, and class-validator's bounds; defaults are property initialisers and `undefined` means "not set".
 */
export interface SectionClass<T extends object = object> {
  new (): T;
  /** `POSTGRES` for `MCP_CORP_POSTGRES__…`; empty for the top level. */
  readonly section: string;
  /** Heading in the configuration reference; by default the section's name. */
  readonly title?: string;
}

/** Rules between the fields of one section, and the rules of production. */
export interface CrossChecked {
  crossCheck(context: CrossCheckContext): ConfigProblem[];
}

export function isCrossChecked(section: object): section is CrossChecked {
  return 'crossCheck' in section && typeof section.crossCheck === 'function';
}
