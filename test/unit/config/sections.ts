import { IsIn, Max, Min } from 'class-validator';
import type { ConfigProblem } from '../../../src/config/problem.js';
import { ConfigurationError } from '../../../src/config/problem.js';
import { loadSettings, type SettingsInputs } from '../../../src/config/load-settings.js';
import type { SectionClass } from '../../../src/config/section.js';
import { Setting, variableOf } from '../../../src/config/setting.js';
import { ToBoolean, ToInteger, ToList, ToNumber } from '../../../src/config/transforms.js';

/** A section with a field of every type. */
export class StoreSettings {
  static readonly section: string = 'STORE';
  static readonly title = 'Store';

  @Setting({ doc: 'Whether the store is used.' })
  @ToBoolean()
  enabled = false;

  @Setting({ doc: 'Where it is.', secret: true, example: 'store://localhost/demo' })
  dsn?: string;

  @Setting({ doc: 'Pool size.', unit: 'connections' })
  @ToInteger()
  @Min(1)
  @Max(100)
  maxPoolSize = 10;

  @Setting({ doc: 'Longest wait.', unit: 'seconds' })
  @ToNumber()
  @Min(0)
  timeoutSeconds = 2.5;

  @Setting({ doc: 'Rate.', defaultDoc: 'no limit', example: '50' })
  @ToNumber()
  rateLimit?: number;

  @Setting({ doc: 'Names.' })
  @ToList()
  names: readonly string[] = ['a', 'b'];

  @Setting({ doc: 'Kind.' })
  @IsIn(['red', 'blue'])
  kind = 'red';

  @Setting({ doc: 'A file of its own: the name ends like a secret file.' })
  file?: string;

  crossCheck(): ConfigProblem[] {
    if (!this.enabled || this.dsn !== undefined) return [];
    return [{ variable: variableOf(StoreSettings, 'dsn'), problem: 'must be set when the store is enabled' }];
  }
}

export type Env = Readonly<Record<string, string>>;

export const load = (env: Env, inputs?: SettingsInputs, sections: readonly SectionClass[] = [StoreSettings]) =>
  loadSettings(env, sections, inputs);

export const store = (env: Env, inputs?: SettingsInputs) => load(env, inputs).get(StoreSettings);

/** The problems of a configuration that must not load. */
export function problemsOf(work: () => unknown): readonly ConfigProblem[] {
  try {
    work();
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems;
    throw error;
  }
  throw new Error('the configuration loaded');
}

export const rendered = (problems: readonly ConfigProblem[]) =>
  problems.map(({ variable, problem }) => `${variable} ${problem}`).join('\n');
