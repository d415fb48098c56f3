import type { EnvironmentSecrets } from '../../config/environment-secrets.js';
import { SecretError, type SecretScheme } from './secret-text.js';

/** `env://NAME`: a variable of the process. */
export const envSecret =
  (environment: EnvironmentSecrets): SecretScheme =>
  async (name) => {
    const text = environment(name);
    if (text === undefined) throw new SecretError('absent');
    return text;
  };
