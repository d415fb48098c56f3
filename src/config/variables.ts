import { parseEnv } from 'node:util';
import type { ConfigProblem } from './problem.js';
import type { SettingDefinition } from './setting.js';
import { MAX_FILE_BYTES, readTextFile, UnreadableFileError, type ReadFile } from './secret-file.js';

export type Variables = Readonly<Record<string, string | undefined>>;

export const FILE_SUFFIX = '_FILE';

/**
 * Precedence: real variable > file named by `<VARIABLE>_FILE` > `.env` > default. An empty text is "not set" at every
 * level and so lets the next one speak. `_FILE` may itself stand in `.env`. What a file holds stays in the settings: it
 * is never put into the process's environment, which child processes inherit and crash reports show.
 */
export class VariableReader {
  readonly problems: ConfigProblem[] = [];
  readonly #real: Variables;
  readonly #dotenv: Variables;
  readonly #readFile: ReadFile;
  readonly #texts = new Map<string, string | undefined>();
  readonly #files = new Map<string, string>();

  constructor(real: Variables, dotenv: string | undefined, readFile: ReadFile) {
    this.#real = real;
    // Editors on Windows begin the file with a mark that would become part of the first name.
    this.#dotenv = parseEnv((dotenv ?? '').replace(/^\uFEFF/, ''));
    this.#readFile = readFile;
  }

  /** Every name that is set anywhere, empty or not. */
  names(): string[] {
    return [...new Set([...Object.keys(this.#real), ...Object.keys(this.#dotenv)])].filter(
      (name) => this.#real[name] !== undefined || this.#dotenv[name] !== undefined,
    );
  }

  /** The text that a name carries directly, for what the name alone does not tell. */
  raw(name: string): string {
    return this.#real[name] || this.#dotenv[name] || '';
  }

  /** Undefined = not set. A text that cannot be had is a problem, and then undefined too. */
  text(setting: SettingDefinition): string | undefined {
    // Once: a file read twice could differ, and would be complained about twice.
    if (!this.#texts.has(setting.variable)) this.#texts.set(setting.variable, this.#find(setting));
    return this.#texts.get(setting.variable);
  }

  /** Path of the file that the text of a variable was taken from; undefined when it came from elsewhere. */
  fileOf(variable: string): string | undefined {
    return this.#files.get(variable);
  }

  #find(setting: SettingDefinition): string | undefined {
    const { variable } = setting;
    const file = () => this.#fromFile(variable);
    for (const candidate of [() => this.#real[variable], file, () => this.#dotenv[variable]]) {
      const text = candidate() ?? '';
      if (text === '' || (setting.secret === true && text.trim() === '')) continue;
      if (candidate === file) this.#files.set(variable, this.raw(variable + FILE_SUFFIX));
      if (Buffer.byteLength(text) <= MAX_FILE_BYTES) return text;
      this.problems.push({ variable, problem: `must not be longer than ${MAX_FILE_BYTES} bytes` });
      return undefined;
    }
    return undefined;
  }

  #fromFile(variable: string): string | undefined {
    const name = variable + FILE_SUFFIX;
    const path = this.raw(name);
    if (path === '') return undefined;
    try {
      return readTextFile(path, this.#readFile).trim();
    } catch (error) {
      if (!(error instanceof UnreadableFileError)) throw error;
      // Text of the reference (spec §1.5), without the path.
      const problem = `apunta a un archivo pero no se pudo leer: ${error.reason}`;
      this.problems.push({ variable: name, problem });
      return undefined;
    }
  }
}
