import { Allow, IsOptional } from 'class-validator';
import type { SectionClass } from './section.js';

export const PREFIX = 'MCP_CORP_';

export type SettingType = 'text' | 'boolean' | 'integer' | 'number' | 'list';

export interface SettingOptions {
  /** One English sentence for the reference. */
  readonly doc: string;
  /** `seconds`, `bytes`, … */
  readonly unit?: string;
  /** Its value is never shown, and blanks alone are not a value. */
  readonly secret?: boolean;
  /** Overrides the derived name after `MCP_CORP_`. */
  readonly variable?: string;
  /** Shown in the reference; a text without a default is written so to `.env.example`. */
  readonly example?: string;
  /** Says in words what applies when the variable is not set. */
  readonly defaultDoc?: string;
  /** Stands before the settings of its section's ancestors. */
  readonly leads?: boolean;
}

/** How the text of a variable becomes a value; `undefined` = the text is none of that type. */
export interface Reading {
  readonly type: SettingType;
  readonly expected: string;
  read(text: string): unknown;
}

export interface SettingDefinition extends SettingOptions {
  readonly property: string;
  /** Full name, `MCP_CORP_…`. */
  readonly variable: string;
  readonly reading: Reading;
}

const text: Reading = { type: 'text', expected: 'text', read: (value) => value };

interface Declared {
  readonly settings: Map<string, SettingOptions>;
  readonly readings: Map<string, Reading>;
}

const declared = new WeakMap<object, Declared>();

function declaredOn(prototype: object): Declared {
  let known = declared.get(prototype);
  if (known === undefined) declared.set(prototype, (known = { settings: new Map(), readings: new Map() }));
  return known;
}

/** Makes a property of a section class a variable. Validators apply only when it has a value (`@IsDefined` always). */
export function Setting(options: SettingOptions): PropertyDecorator {
  return (prototype, property) => {
    declaredOn(prototype).settings.set(String(property), options);
    Allow()(prototype, property);
    IsOptional()(prototype, property);
  };
}

/** Declares how the property's text is read; what the decorators of `transforms.ts` are made of. */
export function ReadAs(reading: Reading): PropertyDecorator {
  return (prototype, property) => {
    declaredOn(prototype).readings.set(String(property), reading);
  };
}

const snakeUpper = (property: string) => property.replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_').toUpperCase();

const nameOf = (section: SectionClass, property: string, options: SettingOptions) =>
  PREFIX + (options.variable ?? (section.section === '' ? '' : `${section.section}__`) + snakeUpper(property));

/** The settings of a section, in the order of declaration: those that lead, those of its ancestors, its own. */
export function settingsOf(section: SectionClass): SettingDefinition[] {
  const settings = new Map<string, SettingOptions>();
  const readings = new Map<string, Reading>();
  for (const prototype of lineage(section)) {
    const own = declared.get(prototype);
    own?.settings.forEach((options, property) => settings.set(property, options));
    own?.readings.forEach((reading, property) => readings.set(property, reading));
  }
  const definitions = [...settings].map(([property, options]) => ({
    ...options,
    property,
    variable: nameOf(section, property, options),
    reading: readings.get(property) ?? text,
  }));
  return definitions.sort((one, other) => Number(other.leads ?? false) - Number(one.leads ?? false));
}

function lineage(section: SectionClass): object[] {
  const prototypes: object[] = [];
  for (let at = section.prototype as object | null; at !== null; at = Object.getPrototypeOf(at) as object | null) {
    prototypes.unshift(at);
  }
  return prototypes;
}

/** Full name of the variable behind a property, for the problems that a `crossCheck` reports. */
export function variableOf<T extends object>(section: SectionClass<T>, property: keyof T & string): string {
  const setting = settingsOf(section).find((candidate) => candidate.property === property);
  if (setting === undefined) throw new TypeError(`${section.name}.${property} is not a setting`);
  return setting.variable;
}
