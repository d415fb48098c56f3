import type { SectionClass } from './section.js';
import { settingsOf } from './setting.js';
import { WatchedFile } from './watched-file.js';

/**
 * Secrets that were given as a file (`<VARIABLE>_FILE`), and may be another one tomorrow. The settings hold the text of the
 * start and never change; who opens a connection or sends a request asks here for the text of now.
 */
const files = new WeakMap<object, ReadonlyMap<string, string>>();

/** Called by the loader: the path behind each secret of `settings` that came from a file. */
export function rememberFiles(
  section: SectionClass,
  settings: object,
  pathOf: (variable: string) => string | undefined,
) {
  const paths = new Map<string, string>();
  for (const { property, variable, secret } of settingsOf(section)) {
    const path = secret === true ? pathOf(variable) : undefined;
    if (path !== undefined) paths.set(property, path);
  }
  files.set(settings, paths);
}

/** Where it is told that a secret has changed, or cannot be read; nothing of the secret or of its path is in it. */
export type SecretChange = 'rotated' | 'unreadable' | 'unusable';

export interface RotatingSecretOptions<T> {
  /** What stands in the settings, made into what is used. */
  readonly initial: T;
  /** What is used, out of the file's trimmed text. Throws when it cannot be: then the last good one goes on. */
  readonly accept: (text: string) => T;
  readonly told: (change: SecretChange, variable: string) => void;
  /** Monotonic clock, milliseconds. */
  readonly now?: () => number;
}

/** A look at a file that takes longer than this is not waited for: the last good secret is used meanwhile. */
const PATIENCE_MS = 250;

/** Undefined when the secret did not come from a file: then it cannot change. */
export function rotatingSecret<S extends object, T>(
  settings: S,
  property: keyof S & string,
  options: RotatingSecretOptions<T>,
): RotatingSecret<T> | undefined {
  const path = files.get(settings)?.get(property);
  const { variable = property } =
    settingsOf(settings.constructor as SectionClass).find((setting) => setting.property === property) ?? {};
  return path === undefined ? undefined : new RotatingSecret(new WatchedFile(path), variable, options);
}

export class RotatingSecret<T> {
  #value: T;
  #text: string | undefined;
  #epoch = 0;
  #lookedAt = -Infinity;
  #trouble: SecretChange | undefined;

  constructor(
    private readonly file: WatchedFile,
    private readonly variable: string,
    private readonly options: RotatingSecretOptions<T>,
  ) {
    this.#value = options.initial;
  }

  /** Another number for another secret; says nothing about it. */
  get epoch(): number {
    return this.#epoch;
  }

  /**
   * The secret of now; the last good one when the file cannot be read, or not in time. Never rejects.
   * @param maxAgeMs no look at the file when the last one is younger than this.
   */
  async read(maxAgeMs = 0): Promise<T> {
    const now = (this.options.now ?? performance.now.bind(performance))();
    if (now - this.#lookedAt < maxAgeMs) return this.#value;
    this.#lookedAt = now;
    await withinPatience(this.#look());
    return this.#value;
  }

  async #look(): Promise<void> {
    let text: string;
    try {
      text = (await this.file.text()).trim();
    } catch {
      return this.#tell('unreadable');
    }
    if (text === this.#text) return;
    try {
      const value = this.options.accept(text);
      const first = this.#text === undefined;
      this.#text = text;
      this.#trouble = undefined;
      // The first look finds what the settings were read from, unless it was changed in between.
      if (first && JSON.stringify(value) === JSON.stringify(this.#value)) return;
      this.#value = value;
      this.#epoch += 1;
      this.options.told('rotated', this.variable);
    } catch {
      this.#tell('unusable');
    }
  }

  /** Once, until it is well again: it is looked at for every connection. */
  #tell(trouble: SecretChange): void {
    if (this.#trouble !== trouble) this.options.told(trouble, this.variable);
    this.#trouble = trouble;
  }
}

function withinPatience(look: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, PATIENCE_MS);
    void look.finally(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
