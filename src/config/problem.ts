/** Something wrong with one variable. Rendered as `<variable> <problem>`, so the problem continues that sentence. */
export interface ConfigProblem {
  /** Full name, `MCP_CORP_…`. */
  readonly variable: string;
  /** What to do about it. Never a value, never a path. */
  readonly problem: string;
}

/** What a section's `crossCheck` may know besides its own fields. */
export interface CrossCheckContext {
  /** Also true when the environment is misspelt as some kind of production: all its problems are then shown at once. */
  readonly production: boolean;
  readonly environment: string;
}

/** Everything that is wrong with the configuration, at once. The process ends with exit code 2. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';

  constructor(readonly problems: readonly ConfigProblem[]) {
    super(problems.map(({ variable, problem }) => `${variable} ${problem}`).join('\n'));
  }
}
