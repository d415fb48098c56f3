import { describe, expect, it } from '@jest/globals';
import { REASON_CODES, PRINCIPAL_PROBLEMS } from '../../../src/governance/core/index.js';
import { EDGE_CODES, explanation, languageOf } from '../../../src/governance/explanations.js';

describe('explanations', () => {
  it.each(
    [...REASON_CODES, ...PRINCIPAL_PROBLEMS, ...EDGE_CODES].filter(
      (code) => code !== 'granted' && code !== 'not_mapped',
    ),
  )('say in both languages what %s means', (code) => {
    const [es, en] = (['es', 'en'] as const).map((language) => explanation(code, language));
    expect(es).toMatch(/^\p{Lu}.{15,}\.$/u);
    expect(en).toMatch(/^\p{Lu}.{15,}\.$/u);
    expect(es).not.toBe(en);
  });

  it.each([
    [undefined, 'es'],
    ['', 'es'],
    ['*', 'es'],
    ['fr', 'es'],
    ['en', 'en'],
    ['en-GB, es;q=0.9', 'en'],
    ['es-VE, en;q=0.9', 'es'],
    ['en;q=0.4, es;q=0.4', 'es'],
    ['en;q=0', 'es'],
    ['es;q=0, en;q=0.1', 'en'],
    ['en;q=nada', 'es'],
  ])('are in the language of Accept-Language: %s is %s', (header, language) => {
    expect(languageOf(header)).toBe(language);
  });
});
