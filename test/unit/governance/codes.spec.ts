import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { DIAGNOSTIC_CODES, PRINCIPAL_PROBLEMS, REASON_CODES } from '../../../src/governance/core/index.js';
import { EDGE_CODES } from '../../../src/governance/explanations.js';

const ROOT = join(import.meta.dirname, '../../..');

/** Codes that the program writes down where it uses them, found in its text. */
const WRITTEN = [
  /new CallError\(\s*'([a-z_]+)'/g,
  /hiddenCall\('([a-z_]+)'/g,
  /journal\.part\([^)']*'([a-z_]+)'/g,
  /INTERNAL_ERROR = '([a-z_]+)'/g,
  /new IdentifierError\(\s*'([a-z_]+)'/g,
  /readonly code = '([a-z_]+)'/g,
];

const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => readFileSync(join(ROOT, 'src', name), 'utf8'));

const codes = new Set<string>([
  ...REASON_CODES,
  ...PRINCIPAL_PROBLEMS,
  ...EDGE_CODES,
  ...DIAGNOSTIC_CODES,
  ...WRITTEN.flatMap((pattern) => sources.flatMap((text) => [...text.matchAll(pattern)].map(([, code = '']) => code))),
]);

const documented = [...readFileSync(join(ROOT, 'docs/codes.md'), 'utf8').matchAll(/^\| `([a-z_]+)`/gm)].map(
  ([, code = '']) => code,
);

describe('docs/codes.md', () => {
  it('is compared with codes that are really found', () => {
    for (const code of ['audit_unavailable', 'circuit_open', 'invalid_check_digit', 'not_mapped', 'shutdown', 'denied'])
      expect(codes).toContain(code);
  });

  it.each([...codes].sort())('has an entry for %s', (code) => {
    expect(documented).toContain(code);
  });

  it('has no entry for a code that the program does not know', () => {
    const text = sources.join('\n');
    expect(documented.filter((code) => !codes.has(code) && !text.includes(`'${code}'`))).toEqual([]);
  });
});
