import { type Type } from '@nestjs/common';
import { type SourceSettings, type SourceSettingsClass } from './source-settings.js';

/**
 * Somebody we talk to. The list `SOURCES` in app.module.ts holds these, and everything that must know the sources
 * (settings, registry, summary of registered tools, configuration reference) is driven by that list.
 */
export interface SourceDefinition<S extends SourceSettings = SourceSettings> {
  /** The name in logs, /diagnostics, error texts and `requires` of a tool; also the connector's name. */
  readonly name: string;
  readonly section: SourceSettingsClass<S>;
  /** The Nest module of the source; imported only when the source is enabled. */
  readonly module: Type;
}

const NAME = /^[a-z][a-z0-9_]{0,31}$/;
const SECTION = /^[A-Z][A-Z0-9_]{0,31}$/;

/** Throws when the name or the section could not be written in a log, a metric or a variable name. */
export function defineSource<S extends SourceSettings>(source: SourceDefinition<S>): SourceDefinition<S> {
  if (!NAME.test(source.name)) throw new Error(`source name '${source.name}' must match ${NAME.source}`);
  const { section } = source.section;
  if (!SECTION.test(section) || section.includes('__')) {
    throw new Error(`section of source '${source.name}' must match ${SECTION.source} and have no double underscore`);
  }
  return Object.freeze({ ...source });
}
