import { inspect } from 'node:util';
import type { SectionClass } from './section.js';
import { settingsOf } from './setting.js';

/** The settings of the process: one frozen object per section class. */
export class Settings {
  readonly #sections: ReadonlyMap<SectionClass, object>;

  constructor(sections: Iterable<readonly [SectionClass, object]>) {
    this.#sections = new Map(sections);
  }

  /** Throws when the section was not among those loaded: a mistake of the program, not of the operator. */
  get<T extends object>(section: SectionClass<T>): T {
    const settings = this.#sections.get(section);
    if (settings === undefined) throw new TypeError(`${section.name} is not among the loaded sections`);
    return settings as T;
  }

  has(section: SectionClass): boolean {
    return this.#sections.has(section);
  }

  sections(): [SectionClass, object][] {
    return [...this.#sections];
  }
}

/** What a settings object shows of a secret when somebody prints or serialises it. */
export const HIDDEN = '[hidden]';

/** Makes the settings unchangeable, and mute about their secrets when they are logged whole by mistake. */
export function seal(section: SectionClass, settings: object): object {
  const secrets = new Set(settingsOf(section).flatMap(({ secret, property }) => (secret === true ? [property] : [])));
  const spoken = () =>
    Object.fromEntries(
      Object.entries(settings).map(([property, value]: [string, unknown]) => [
        property,
        secrets.has(property) && value !== undefined ? HIDDEN : value,
      ]),
    );
  Object.defineProperty(settings, 'toJSON', { value: spoken });
  Object.defineProperty(settings, inspect.custom, { value: spoken });
  return Object.freeze(settings);
}
