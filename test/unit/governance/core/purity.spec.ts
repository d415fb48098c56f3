import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pointer, pointerTokens } from '../../../../src/governance/core/index.js';

const CORE = join(import.meta.dirname, '../../../../src/governance/core');

/** What makes a source impure, or undefined. The same check runs on the core and on sources that must fail it. */
function impurity(source: string, depth: number): string | undefined {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '');
  for (const [, from = ''] of code.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)) {
    const climbs = from.split('/').filter((step) => step === '..').length;
    if (!from.startsWith('.') || climbs > depth) return `imports ${from}`;
  }
  const forbidden =
    /\b(Date|performance|process|globalThis|console|fetch|crypto|Intl|setTimeout|setInterval|queueMicrotask|Buffer|require|async|await)\b|Math\.random|locale/i;
  return forbidden.exec(code)?.[0];
}

describe('the core', () => {
  const files = readdirSync(CORE, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));

  it('is really read by this check', () => {
    expect(files).toContain('evaluate.ts');
    expect(files).toContain(join('checks', 'grants.ts'));
  });

  it.each(files)('imports only itself and asks nobody anything: %s', (name) => {
    expect(impurity(readFileSync(join(CORE, name), 'utf8'), name.split(/[\\/]/).length - 1)).toBeUndefined();
  });

  it.each([
    "import x from 'yaml';",
    "import '../config/x.js';",
    'const at = Date.now();',
    'Math.random()',
    'process.env',
    "import('node:fs')",
  ])('would not pass with %s', (source) => {
    expect(impurity(source, 0)).toBeDefined();
  });
});

describe('a pointer', () => {
  it('escapes what RFC 6901 escapes, and reads it back', () => {
    expect(pointer('a/b', 'c~d', 0)).toBe('/a~1b/c~0d/0');
    expect(pointerTokens('#/a~1b/c~0d/0')).toEqual(['a/b', 'c~d', '0']);
    expect(pointerTokens('')).toEqual([]);
    expect(pointerTokens('a')).toBeUndefined();
    expect(pointerTokens('/a~2')).toBeUndefined();
  });
});
