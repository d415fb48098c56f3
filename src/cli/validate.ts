import { EXIT_CODES } from './exit-codes.js';
import { describe, readPolicy, type Product } from './policy-argument.js';
import { answer, type Terminal } from './terminal.js';

/** All findings about an artefact. Warnings alone are no failure. */
export async function validate(origin: string, json: boolean, product: Product, terminal: Terminal): Promise<number> {
  const { version, diagnostics } = await readPolicy(origin, product);
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
  answer(
    terminal,
    json,
    () => ({ origin, version, diagnostics }),
    () => [
      ...diagnostics.flatMap((diagnostic) => describe(origin, diagnostic)),
      `${origin} (${version}): ${errors} errors, ${diagnostics.length - errors} warnings`,
    ],
  );
  return errors > 0 ? EXIT_CODES.findings : EXIT_CODES.ok;
}
