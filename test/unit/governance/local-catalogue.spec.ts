import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { CLIENTES } from '../../../src/clientes/clientes.module.js';
import { localCatalogue } from '../../../src/governance/local-catalogue.js';
import { McpResourceTemplate, type ResourceFamily } from '../../../src/mcp/decorators.js';

@McpResourceTemplate({
  ...{ name: 'fichas', title: 'f', description: 'Fichas', mimeType: 'text/plain', requires: [] },
  uriTemplate: 'data://fichas/{id}',
  input: z.strictObject({ id: z.string() }),
})
@Injectable()
class Fichas implements ResourceFamily<{ id: string }> {
  subject = undefined;
  read = () => '';
}

describe('the local catalogue', () => {
  it('has every class of the product', () => {
    expect(localCatalogue(CLIENTES)).toHaveLength(CLIENTES.length);
  });

  it('has a family of resources under its template: one mapping opens or hides all of it', () => {
    expect(localCatalogue([Fichas])).toEqual([
      expect.objectContaining({ kind: 'resource', name: 'fichas', uri: 'data://fichas/{id}' }),
    ]);
  });
});
