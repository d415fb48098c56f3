import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { inputSchemaOf } from '../../../src/mcp/json-schema.js';
import { complete, suggestionsOf } from '../../../src/mcp/suggestions.js';

describe('suggestions', () => {
  it('are what the schema names: its enum, else its examples', () => {
    const schema = inputSchemaOf(
      z.strictObject({
        estado: z.enum(['activo', 'moroso']),
        ciudad: z.string().meta({ examples: ['Caracas', 'Mérida'] }),
        libre: z.string(),
      }),
    );
    expect(suggestionsOf(schema)).toEqual(
      new Map([
        ['estado', ['activo', 'moroso']],
        ['ciudad', ['Caracas', 'Mérida']],
      ]),
    );
    expect(suggestionsOf(inputSchemaOf(z.strictObject({ libre: z.string() })))).toBeUndefined();
  });

  it('begin with what was typed, whatever the case', () => {
    expect(complete(['Caracas', 'Cumaná', 'Mérida'], 'cA')).toEqual({ values: ['Caracas'], total: 1, hasMore: false });
  });

  it('are at most 100, and say that there are more', () => {
    const all = Array.from({ length: 101 }, (_, index) => `v${index}`);
    expect(complete(all, '')).toEqual({ values: all.slice(0, 100), total: 101, hasMore: true });
  });
});
