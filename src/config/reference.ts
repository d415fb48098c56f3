import { getMetadataStorage } from 'class-validator';
import type { SectionClass } from './section.js';
import { PREFIX, settingsOf, type SettingDefinition } from './setting.js';

/**
 * The configuration reference and `.env.example`, written from the section classes, so that neither can say something
 * that the loader does not do. Pure functions of the classes.
 */

const HEAD = `# Configuration

Generated from the settings classes by \`scripts/configuration-reference.mjs\`; do not edit.

Everything is set by environment variables. The value of a variable is, in this order: the variable itself, the file
named by \`<VARIABLE>_FILE\` (UTF-8, trimmed, at most 64 KiB), the \`.env\` file of the working directory, the default. An
empty text means "not set" everywhere. Booleans are true/false, 1/0, yes/no, on/off, t/f or y/n; durations are seconds and
may have fractions; lists are separated by commas. Names are upper case. A name that begins with \`${PREFIX}\` and is not
listed here stops the start, like every other mistake: all of them are shown at once, without values, and the exit code
is 2.
`;

/** Text of `docs/configuration.md`. */
export function configurationMarkdown(sections: readonly SectionClass[]): string {
  return [HEAD, ...sections.map(sectionMarkdown)].join('\n');
}

const COLUMNS = ['Variable', 'Type', 'Unit', 'Default', 'Bounds', 'Meaning', 'Secret'];

function sectionMarkdown(section: SectionClass): string {
  const rows = settingsOf(section).map((setting) => [
    code(setting.variable),
    setting.reading.type,
    setting.unit ?? '',
    defaultInWords(section, setting),
    boundsOf(section, setting).join(', '),
    setting.example === undefined ? setting.doc : `${setting.doc} Example: ${code(setting.example)}.`,
    setting.secret === true ? 'yes' : '',
  ]);
  const table = [COLUMNS, COLUMNS.map(() => '---'), ...rows].map((cells) => `| ${cells.map(cell).join(' | ')} |`);
  return `## ${titleOf(section)}\n\n${table.join('\n')}\n`;
}

const titleOf = ({ title, section, name }: SectionClass) => title ?? (section === '' ? name : section);
const code = (text: string) => `\`${text}\``;
const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ');

function defaultInWords(section: SectionClass, setting: SettingDefinition): string {
  if (setting.defaultDoc !== undefined) return setting.defaultDoc;
  const text = defaultText(section, setting);
  return text === '' ? 'not set' : code(text);
}

function defaultText(section: SectionClass, { property }: SettingDefinition): string {
  const value = (new section() as Record<string, unknown>)[property];
  if (Array.isArray(value)) return value.join(',');
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

/** What class-validator will ask of the value, in words; validators not named here speak through their own messages. */
const BOUNDS: Readonly<Record<string, (constraints: readonly unknown[]) => string>> = {
  min: ([least]) => `≥ ${String(least)}`,
  max: ([most]) => `≤ ${String(most)}`,
  isPositive: () => '> 0',
  isIn: ([values]) => (values as readonly unknown[]).map((value) => code(String(value))).join(' · '),
  minLength: ([least]) => `≥ ${String(least)} characters`,
  maxLength: ([most]) => `≤ ${String(most)} characters`,
  minBytes: ([least]) => `≥ ${String(least)} bytes`,
  arrayMaxSize: ([most]) => `≤ ${String(most)} items`,
};

function boundsOf(section: SectionClass, { property }: SettingDefinition): string[] {
  const order = Object.keys(BOUNDS);
  return getMetadataStorage()
    .getTargetValidationMetadatas(section, '', false, false)
    .filter(({ propertyName, name }) => propertyName === property && name !== undefined && name in BOUNDS)
    .sort((a, b) => order.indexOf(a.name ?? '') - order.indexOf(b.name ?? ''))
    .map(({ name, constraints }) => BOUNDS[name ?? '']?.((constraints ?? []) as unknown[]) ?? '');
}

/** Text of `.env.example`: copied to `.env` unchanged it starts, and means the same as no file at all, but for examples. */
export function environmentExample(sections: readonly SectionClass[]): string {
  const head =
    '# Generated from the settings classes by scripts/configuration-reference.mjs; do not edit.\n' +
    '# Copy to .env. An empty value means "not set". docs/configuration.md explains each variable.\n';
  return [head, ...sections.map(sectionExample)].join('\n');
}

function sectionExample(section: SectionClass): string {
  const lines = settingsOf(section).map((setting) => `${setting.variable}=${quoted(exampleText(section, setting))}`);
  return `# ${titleOf(section)}\n${lines.join('\n')}\n`;
}

/** An example stands in for a missing text. A missing number is computed or means "no limit", and stays missing. */
function exampleText(section: SectionClass, setting: SettingDefinition): string {
  const text = defaultText(section, setting);
  return text === '' && setting.reading.type === 'text' ? (setting.example ?? '') : text;
}

/** `.env` has no escapes: the quote that the text does not hold. */
const quoted = (text: string) => (/[\s#'"`]/.test(text) ? (text.includes("'") ? `"${text}"` : `'${text}'`) : text);
