import { resolve } from 'node:path';
import { loadSettings } from './load-settings.js';
import { ConfigurationError } from './problem.js';
import type { SectionClass } from './section.js';
import { PREFIX } from './setting.js';
import { readBoundedFile, readTextFile, UnreadableFileError } from './secret-file.js';
import type { Settings } from './settings.js';
import type { Variables } from './variables.js';

/**
 * The only place that reads the process's environment and the `.env` file of its working directory; both are read, never
 * written. `flags`: what the command line said, by the names of the variables; it wins. Throws `ConfigurationError`.
 */
export function settingsOfProcess(sections: readonly SectionClass[], flags: Variables = {}): Settings {
  return loadSettings({ ...process.env, ...flags }, sections, { dotenv: dotenvOf(process.cwd()) });
}

/** One section alone, for a command that needs no more of the configuration. Throws `ConfigurationError`. */
export function sectionOfProcess<T extends object>(section: SectionClass<T>): T {
  const own = Object.entries(process.env).filter(([name]) => name.startsWith(`${PREFIX}${section.section}__`));
  return loadSettings(Object.fromEntries(own), [section]).get(section);
}

/**
 * Text of the folder's `.env`, undefined when there is none. One that is there but cannot be read is a problem of its
 * own, reported alone: without it every other complaint would be a guess.
 */
export function dotenvOf(folder: string): string | undefined {
  const path = resolve(folder, '.env');
  try {
    return readTextFile(path, (file) => readBoundedFile(file));
  } catch (error) {
    if (!(error instanceof UnreadableFileError)) throw error;
    if (error.reason.includes('ENOENT')) return undefined;
    const problem = `is in the working directory but cannot be read: ${error.reason}`;
    throw new ConfigurationError([{ variable: '.env', problem }]);
  }
}
