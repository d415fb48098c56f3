import { describe, expect, it } from '@jest/globals';
import { isHiddenName, redactField, redactText } from '../../../src/logging/redaction.js';

describe('a text that is not ours', () => {
  it.each([
    ['getaddrinfo ENOTFOUND postgres', 'getaddrinfo ENOTFOUND [host]'],
    ['connect ECONNREFUSED 10.1.2.3:5432', 'connect ECONNREFUSED [host]'],
    ['connect ECONNREFUSED ::1:5432', 'connect ECONNREFUSED [host]'],
    ['connect ENOENT /var/run/postgresql/.s.PGSQL.5432', 'connect ENOENT [path]'],
    [
      'Hostname/IP does not match certificate of db.corp.example.com',
      'Hostname/IP does not match certificate of [host]',
    ],
    ['password authentication failed for user "mcp_corp"', 'password authentication failed for user [value]'],
    ['no entry for user mcp_corp on localhost', 'no entry for user [value] on [host]'],
    ['could not open postgresql://app:clave@db.interna:5432/x?y=1 now', 'could not open [url] now'],
    ['GET /saldos/V16760320 failed with status code 503', 'GET [path] failed with status code 503'],
    ['Key (cedula)=(V16760320) already exists', 'Key (cedula)=[value] already exists'],
    ['host=db user=app password=hunter2', 'host=[value] user=[value] password=[value]'],
    ['write to ana.perez@example.com failed', 'write to [email] failed'],
    ['bad number V-16.760.320 here', 'bad number [digits] here'],
    ['bad number 16 760 320', 'bad number [digits]'],
    ['bad number ١٢٣٤٥٦٧٨', 'bad number [digits]'],
    ['invalid input syntax for type integer: "María "la" Gómez"', 'invalid input syntax for type integer: [value]'],
    [
      'Unexpected token \'M\', ..."nombre": María Gómez"... is not valid JSON',
      'Unexpected token [value]... is not valid JSON',
    ],
    ['valor “abierto sin cerrar', 'valor [value]'],
    ["Nest can't resolve dependencies", "Nest can't resolve dependencies"],
    ['two\nlines\tand tabs', 'two lines and tabs'],
    ['Nest application successfully started', 'Nest application successfully started'],
    ['Request failed with status code 503', 'Request failed with status code 503'],
  ])('%j becomes %j', (text, redacted) => {
    expect(redactText(text)).toBe(redacted);
  });

  it('is cut, and a quotation that is cut with it does not stay', () => {
    const redacted = redactText(`failed: "${'María '.repeat(2000)}" end`);
    expect(redacted).toBe('failed: [value]');
    expect(redactText('palabra '.repeat(1000)).length).toBeLessThanOrEqual(500);
  });

  it('is redacted in bounded time whatever it is made of', () => {
    const begun = performance.now();
    for (const piece of ['a.', '/a', '1.', '@', 'a@', ':', '::', "'", '=(', 'V1', 'a:', '((', ' 1'])
      redactText(piece.repeat(100_000));
    expect(performance.now() - begun).toBeLessThan(1000);
  });
});

describe('a text of our own fields', () => {
  it.each([
    ['http://api.interna:8080/saldos/V1', '[url]'],
    ['escribe a ana@example.com', 'escribe a [email]'],
    ['V16760320', '[identifier]'],
    ['cliente V-16.760.320.', 'cliente [identifier].'],
    ['J-12345678-3', '[identifier]'],
  ])('%j becomes %j', (text, redacted) => {
    expect(redactField(text)).toBe(redacted);
  });

  it.each([
    'hmac-sha256:d847f45a92a6',
    'hmac-sha256:e12345678901',
    'c1234567',
    'arranca en modo degradado; el circuito queda abierto',
    'must look like postgresql://<user>:<password>@<host>:<port>/<database>',
    '2026-11-30T12:20:01.250000+00:00',
    'mcp-corp-7d9f8b6c5-x2x4v',
    '0.0.0.0',
  ])('%j stays', (text) => {
    expect(redactField(text)).toBe(text);
  });
});

describe('the name of a field', () => {
  it.each([
    'password',
    'hmacSecret',
    'AUDIT_HMAC_SECRET',
    'bearer_token',
    'Authorization',
    'apiKey',
    'dsn',
    'cedula',
    'Email',
    'saldo',
  ])('%s hides its value', (name) => expect(isHiddenName(name)).toBe(true));

  it.each(['identifier', 'key_id', 'tool', 'saldo_api', 'source', 'tokens', 'duration_ms'])('%s does not', (name) =>
    expect(isHiddenName(name)).toBe(false),
  );
});
