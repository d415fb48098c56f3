import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DsnError, isVerified, parseDsn } from '../../../../src/connectors/postgres/dsn.js';

const problemOf = (text: string): string => {
  try {
    parseDsn(text);
  } catch (error) {
    if (error instanceof DsnError) return error.message;
    throw error;
  }
  return 'accepted';
};

describe('the DSN of a PostgreSQL source', () => {
  it('is read from its URL form, percent-encoding undone', () => {
    expect(parseDsn('postgresql://us%65r:p%40ss%3Aw%2Fo%3Frd@db.example.com:6432/my%20db?sslmode=require')).toEqual({
      host: 'db.example.com',
      port: 6432,
      user: 'user',
      password: 'p@ss:w/o?rd',
      database: 'my db',
      sslMode: 'require',
      sslRootCert: undefined,
      sslCert: undefined,
      sslKey: undefined,
      options: undefined,
    });
  });

  it('means port 5432, the database of the user and sslmode prefer where it is silent, as libpq does', () => {
    expect(parseDsn('postgres://ana@localhost')).toMatchObject({
      port: 5432,
      database: 'ana',
      password: '',
      sslMode: 'prefer',
    });
  });

  it('takes an IPv6 host without its brackets', () => {
    expect(parseDsn('postgres://u@[::1]:5433/d')).toMatchObject({ host: '::1', port: 5433 });
  });

  it('gives back any user, password and database that were percent-encoded', () => {
    const text = fc.string({ minLength: 1, unit: 'grapheme' }).filter((part) => !part.includes('\0'));
    fc.assert(
      fc.property(text, text, text, (user, password, database) => {
        const [u, p, d] = [user, password, database].map(encodeURIComponent);
        fc.pre(d !== '.' && d !== '..'); // an URL parser walks the path
        expect(parseDsn(`postgresql://${u}:${p}@h/${d}`)).toMatchObject({ user, password, database });
      }),
    );
  });

  it.each([
    ["libpq's keyword form", 'host=db user=app password=secreto dbname=x', /keyword form .* is not supported/],
    ['a keyword form in quotes and blanks', "  user = 'app' host=db", /postgresql:\/\/user:password@host/],
    ['another scheme', 'mysql://u:secreto@db/x', /URL form/],
    ['no host', 'postgresql://u:secreto@/x', /host/],
    ['several hosts', 'postgresql://u:secreto@db1,db2/x', /one host/],
    ['a socket folder', 'postgresql://u:secreto@%2Fvar%2Frun/x', /one host/],
    ['no user', 'postgresql://db/x', /user/],
    ['a bad port', 'postgresql://u:secreto@db:99999/x', /valid URL/],
    ['a # in the password', 'postgresql://u:secr#eto@db/x', /percent-encoded|valid URL/],
    ['a ? in the password', 'postgresql://u:secr?eto@db/x', /percent-encoded|valid URL|host|parameters/],
    ['a lone % in the password', 'postgresql://u:secreto%@db/x', /percent-encoded/],
    ['a NUL in the user', 'postgresql://u%00x:secreto@db/x', /NUL/],
    ['a path of two segments', 'postgresql://u:secreto@db/x/y', /one path segment/],
    [
      'a parameter that we would ignore',
      'postgresql://u:secreto@db/x?target_session_attrs=any',
      /only these parameters/,
    ],
    ['a parameter twice', 'postgresql://u:secreto@db/x?sslmode=disable&sslmode=require', /each once/],
    ['an unknown sslmode', 'postgresql://u:secreto@db/x?sslmode=no-verify', /sslmode out of disable/],
    ['verify-ca without an authority', 'postgresql://u:secreto@db/x?sslmode=verify-ca', /sslrootcert/],
    [
      'public authorities without the name check',
      'postgresql://u:secreto@db/x?sslmode=require&sslrootcert=system',
      /verify-full/,
    ],
    ['a certificate without its key', 'postgresql://u:secreto@db/x?sslcert=/c.pem', /together/],
    ['nothing', '', /URL form/],
  ])('with %s is refused, and the text shows nothing of it', (_what, dsn, problem) => {
    expect(problemOf(dsn)).toMatch(problem);
    expect(problemOf(dsn)).not.toMatch(/secr|eto|db[12]|target|c\.pem/);
  });

  it.each([
    ['disable', false],
    ['allow', false],
    ['prefer', false],
    ['require', false],
    ['require&sslrootcert=/ca.pem', true],
    ['verify-ca&sslrootcert=/ca.pem', true],
    ['verify-full', true],
  ])('with sslmode=%s asks for a checked certificate: %s', (query, verified) => {
    expect(isVerified(parseDsn(`postgresql://u@h/d?sslmode=${query}`))).toBe(verified);
  });

  it('checks certificates fully when its authorities are those of the system', () => {
    expect(parseDsn('postgresql://u@h/d?sslrootcert=system')).toMatchObject({ sslMode: 'verify-full' });
  });
});
