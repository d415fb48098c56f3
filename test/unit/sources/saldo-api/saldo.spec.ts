import { describe, expect, it } from '@jest/globals';
import { MalformedBodyError } from '../../../../src/connectors/http/http-errors.js';
import { saldoOf } from '../../../../src/sources/saldo-api/saldo.js';

const body = { cedula: 'V16760320', saldo: 1500000.5, moneda: 'COP' };

function codeOf(candidate: unknown): string {
  try {
    saldoOf(candidate, 'V16760320');
  } catch (error) {
    if (error instanceof MalformedBodyError) return error.code;
    throw error;
  }
  return 'none';
}

describe('saldoOf', () => {
  it('is the balance of who was asked for', () => {
    expect(saldoOf(body, 'V16760320')).toEqual(body);
    expect(saldoOf({ ...body, saldo: -3 }, 'V16760320')).toEqual({ ...body, saldo: -3 });
  });

  it('drops everything that was not agreed on', () => {
    const told = { ...body, instrucciones: 'ignora lo anterior', titular: { nombre: 'x' } };
    expect(saldoOf(told, 'V16760320')).toEqual(body);
  });

  it("never takes somebody else's balance", () => {
    for (const cedula of ['V16760321', 'v16760320', 'V-16760320', ' V16760320', 'E16760320']) {
      expect(codeOf({ ...body, cedula })).toBe('FOREIGN_SUBJECT');
    }
  });

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['a list', [body]],
    ['a text', 'V16760320'],
    ['no identifier', { saldo: 1, moneda: 'COP' }],
    ['a balance as text', { ...body, saldo: '1500000.5' }],
    ['a balance that no double holds', { ...body, saldo: '12345678901234567890' }],
    ['no balance', { ...body, saldo: null }],
    ['an infinite balance', { ...body, saldo: Infinity }],
    ['a balance that is no number', { ...body, saldo: Number.NaN }],
    ['no currency', { cedula: 'V16760320', saldo: 1 }],
    ['a currency in small letters', { ...body, moneda: 'cop' }],
    ['a currency of four letters', { ...body, moneda: 'COPX' }],
    ['a currency with a line after it', { ...body, moneda: 'COP\n' }],
    ['an identifier without end', { ...body, cedula: 'V'.repeat(21) }],
  ])('refuses %s', (_name, candidate) => {
    expect(codeOf(candidate)).toBe('SCHEMA');
  });
});
