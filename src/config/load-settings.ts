import { getMetadataStorage, validateSync, type ValidationError } from 'class-validator';
import { ConfigurationError, type ConfigProblem } from './problem.js';
import { isCrossChecked, type SectionClass } from './section.js';
import { rememberFiles } from './rotating-secret.js';
import { readBoundedFile, type ReadFile } from './secret-file.js';
import { ServiceSettings } from './service.settings.js';
import { settingsOf } from './setting.js';
import { seal, Settings } from './settings.js';
import { isServiceLinkValue, problemsOfNames } from './unknown-names.js';
import { FILE_SUFFIX, VariableReader, type Variables } from './variables.js';

export interface SettingsInputs {
  /** Text of `.env`. */
  readonly dotenv?: string;
  /** How the files named by `_FILE` variables are read. */
  readonly readFile?: ReadFile;
}

/**
 * The environment as settings. Pure but for `readFile`: nothing is cached, nothing is written anywhere.
 * `ServiceSettings` is always among the sections, because production rules need the environment.
 * Throws `ConfigurationError` with every problem at once, none of which holds a value or a path.
 */
export function loadSettings(
  env: Variables,
  sections: readonly SectionClass[],
  { dotenv, readFile = readBoundedFile }: SettingsInputs = {},
): Settings {
  const all = [...new Set<SectionClass>([ServiceSettings, ...sections])];
  refuseSharedVariables(all);
  const reader = new VariableReader(env, dotenv, readFile);
  const problems: ConfigProblem[] = [];

  const loaded = all.map((section): readonly [SectionClass, object] => {
    const { settings, problems: found } = readSection(section, reader);
    problems.push(...found);
    return [section, settings];
  });
  problems.unshift(...reader.problems);

  const settings = new Settings(loaded);
  const { environment } = settings.get(ServiceSettings);
  const production = environment === 'production' || isMeantAsProduction(reader);

  // The variable behind an unreadable file is blamed with it.
  const blamed = new Set(problems.flatMap(({ variable }) => [variable, variable.replace(FILE_ENDING, '')]));
  for (const [, section] of loaded) {
    if (!isCrossChecked(section)) continue;
    // A field that could not be read has its default here: what follows from that alone is noise.
    problems.push(...section.crossCheck({ production, environment }).filter(({ variable }) => !blamed.has(variable)));
  }
  problems.push(
    ...problemsOfNames({ names: reader.names(), sections: all, production, raw: (name) => reader.raw(name) }),
  );

  if (problems.length > 0) throw new ConfigurationError(problems);
  for (const [section, instance] of loaded) {
    seal(section, instance);
    rememberFiles(section, instance, (variable) => reader.fileOf(variable));
  }
  return settings;
}

const FILE_ENDING = new RegExp(`${FILE_SUFFIX}$`);

interface ReadSection {
  readonly settings: object;
  readonly problems: ConfigProblem[];
}

function readSection(section: SectionClass, reader: VariableReader): ReadSection {
  const settings = new section() as Record<string, unknown>;
  const defaults = { ...settings };
  const definitions = new Map(settingsOf(section).map((definition) => [definition.property, definition]));
  const texts = new Map<string, string>();
  const problems: ConfigProblem[] = [];

  for (const [property, definition] of definitions) {
    const text = reader.text(definition);
    // A service link's value is no value of ours; its name gets the remedy later.
    if (text === undefined || isServiceLinkValue(definition.variable, text)) continue;
    const value = definition.reading.read(text);
    if (value === undefined) {
      problems.push({ variable: definition.variable, problem: `must be ${definition.reading.expected}` });
      continue;
    }
    settings[property] = value;
    texts.set(property, text);
  }

  for (const error of violations(settings)) {
    const definition = definitions.get(error.property);
    if (definition === undefined) throw new TypeError(`${section.name}.${error.property} has no @Setting`);
    for (const message of new Set(Object.values(error.constraints ?? {}))) {
      const problem = withoutValue(message, section, error.property, texts.get(error.property) ?? '');
      problems.push({ variable: definition.variable, problem });
    }
    settings[error.property] = defaults[error.property];
  }
  return { settings, problems };
}

const violations = (settings: object): ValidationError[] =>
  validateSync(settings, {
    whitelist: true,
    forbidNonWhitelisted: true,
    forbidUnknownValues: false,
    validationError: { target: false, value: false },
  });

/**
 * A validator's message continues the variable's name, and must not quote the value (`$value` would). A text that stands
 * in the validator itself, such as one of the allowed values, is not the operator's.
 */
function withoutValue(message: string, section: SectionClass, property: string, text: string): string {
  const problem = message.replace(`each value in ${property} `, 'each item ').replace(`${property} `, '');
  const value = text.trim();
  if (value.length < 3 || /^[\d.+-]+$/.test(value) || !problem.includes(value)) return problem;
  const ours = getMetadataStorage()
    .getTargetValidationMetadatas(section, '', false, false)
    .filter(({ propertyName }) => propertyName === property)
    .some(({ constraints }) => String(constraints).includes(value));
  return ours ? problem : 'has a value that is not allowed';
}

/** `Production`, `prod`, ` production `: refused as a name, and checked as what it was meant to be. */
const isMeantAsProduction = (reader: VariableReader) =>
  settingsOf(ServiceSettings).some(
    (setting) => setting.property === 'environment' && /^\s*prod/i.test(reader.text(setting) ?? ''),
  );

function refuseSharedVariables(sections: readonly SectionClass[]): void {
  const owners = new Map<string, string>();
  for (const section of sections) {
    for (const { variable } of settingsOf(section)) {
      const owner = owners.get(variable);
      if (owner !== undefined) throw new TypeError(`${variable} belongs to both ${owner} and ${section.name}`);
      owners.set(variable, section.name);
    }
  }
}
