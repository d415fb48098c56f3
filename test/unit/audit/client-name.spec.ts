import { describe, expect, it } from '@jest/globals';
import { recordableClient } from '../../../src/audit/client-name.js';

describe('recordableClient', () => {
  it.each([
    'claude-ai/0.1.0',
    'Visual Studio Code/1.104.0',
    'my_client 2',
    'a',
    'x'.repeat(64),
    'v12345',
    'node/24.22.3',
  ])('records %s', (client) => expect(recordableClient(client)).toBe(client));

  it.each([
    ['an absent name', undefined],
    ['an empty name', ''],
    ['more than 64 characters', 'x'.repeat(65)],
    ['six digits in a row', 'client 123456'],
    ['an identifier', 'V16760320'],
    ['an identifier grouped by dots', 'V-16.760.320'],
    ['an identifier grouped by spaces', '16 760 320'],
    ['an identifier grouped by dashes', '1-234-567'],
    ['a short identifier grouped once', '123.456'],
    ['an e-mail address', 'maria@example.org'],
    ['a name with an accent', 'María'],
    ['a control character', 'a\nb'],
    ['digits of another script', '١٦٧٦٠٣٢٠'],
    ['a trailing newline', 'client\n'],
  ])('does not record %s', (_what, client) => expect(recordableClient(client)).toBeNull());
});
