import { describe, expect, it } from '@jest/globals';
import { createHash, createHmac } from 'node:crypto';
import fc from 'fast-check';
import { Pseudonyms } from '../../../src/audit/pseudonym.js';

const A = 'clave-secreta-de-prueba-a';
const B = 'clave-secreta-de-prueba-b';

describe('Pseudonyms', () => {
  it.each([
    [A, 'V16760320', 'd847f45a92a6'],
    [A, '1000000001', '7d2bee076dca'],
    [A, 'V-16.760.320', '664ac96b7f29'],
    [B, '1000000001', '2648dc9f464a'],
    ['', 'V16760320', 'e8e4c4332e5c'],
  ])('gives the reference vector of key %j and %s', (key, canonical, hex) => {
    expect(new Pseudonyms(key).fields(canonical).identifier).toBe(`hmac-sha256:${hex}`);
  });

  it('is HMAC-SHA256 for every key and every subject, also those longer than a block', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 200 });
    fc.assert(
      fc.property(text, text, (key, subject) => {
        const hex = createHmac('sha256', key).update(subject).digest('hex').slice(0, 12);
        expect(new Pseudonyms(key).fields(subject).identifier).toBe(`hmac-sha256:${hex}`);
      }),
    );
  });

  it('depends on the key and is no plain hash', () => {
    const plain = createHash('sha256').update('V16760320').digest('hex').slice(0, 12);
    const [a, b] = [new Pseudonyms(A).fields('V16760320'), new Pseudonyms(B).fields('V16760320')];
    expect(a.identifier).not.toBe(b.identifier);
    expect(a.key_id).not.toBe(b.key_id);
    expect(a.identifier).not.toContain(plain);
  });

  it('names the key with 8 hex digits that are the same for everybody', () => {
    const pseudonyms = new Pseudonyms(A);
    expect(pseudonyms.fields('V16760320').key_id).toMatch(/^[0-9a-f]{8}$/);
    expect(pseudonyms.fields('V1').key_id).toBe(pseudonyms.fields(null).key_id);
    // HMAC-SHA256(key, "mcp-corp/key-id"), computed with another implementation.
    expect(pseudonyms.fields(null).key_id).toBe('f8220fa9');
  });

  it('is null without a subject, also under the previous key', () => {
    expect(new Pseudonyms(A, B).fields(null)).toMatchObject({ identifier: null, identifier_previous: null });
  });

  it('writes both pseudonyms and both key ids during a rotation, and one pair otherwise', () => {
    const rotating = new Pseudonyms(B, A).fields('1000000001');
    expect(rotating).toMatchObject({
      identifier: 'hmac-sha256:2648dc9f464a',
      key_id: new Pseudonyms(B).fields(null).key_id,
      identifier_previous: 'hmac-sha256:7d2bee076dca',
      key_id_previous: new Pseudonyms(A).fields(null).key_id,
    });
    expect(Object.keys(new Pseudonyms(B).fields('1000000001'))).toEqual(['identifier', 'key_id']);
  });
});
