import type { Variables } from './variables.js';

/** Value of a variable of the process, by its name; undefined when it is not set or empty. Read anew each time. */
export type EnvironmentSecrets = (name: string) => string | undefined;

/** For references `env://NAME`, whose names only a policy knows. Folders other than this one never read `process.env`. */
export const environmentSecrets =
  (env: Variables = process.env): EnvironmentSecrets =>
  (name) =>
    Object.hasOwn(env, name) && env[name] !== '' ? env[name] : undefined;
