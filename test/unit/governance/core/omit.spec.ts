import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { omitFields } from '../../../../src/governance/core/index.js';

describe('leaving fields out', () => {
  const summary = {
    cliente: { disponible: true, datos: { nombre: 'Ana', email: 'a@x' } },
    contactos: [{ email: 'b@x', tipo: 1 }],
    email: null,
  };

  it('leaves a plain name out wherever it stands', () => {
    expect(omitFields(summary, ['email'])).toEqual({
      cliente: { disponible: true, datos: { nombre: 'Ana' } },
      contactos: [{ tipo: 1 }],
    });
  });

  it('leaves a dotted path out only there, through lists', () => {
    expect(omitFields(summary, ['cliente.datos.email', 'contactos.tipo'])).toEqual({
      cliente: { disponible: true, datos: { nombre: 'Ana' } },
      contactos: [{ email: 'b@x' }],
      email: null,
    });
  });

  it('does not touch what it was given', () => {
    const before = structuredClone(summary);
    omitFields(summary, ['email', 'cliente']);
    expect(summary).toEqual(before);
  });

  it('never lets an omitted name through, and changes nothing else', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const written = JSON.stringify(omitFields({ value, email: 'x', datos: [value, { email: value }] }, ['email']));
        expect(written).not.toMatch(/"email":/);
        expect(omitFields(value, ['ninguno'])).toEqual(value);
      }),
    );
  });

  it('keeps a field named __proto__ a field', () => {
    const value: unknown = JSON.parse('{"__proto__":{"email":1,"otro":2}}');
    expect(JSON.stringify(omitFields(value, ['email']))).toBe('{"__proto__":{"otro":2}}');
  });
});
