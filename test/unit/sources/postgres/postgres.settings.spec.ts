import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ConfigurationError } from '../../../../src/config/problem.js';
import { loadSettings } from '../../../../src/config/load-settings.js';
import { PostgresSettings } from '../../../../src/sources/postgres/postgres.settings.js';
import { makeCertificate } from '../../../support/certificates.js';

let folder: string;
let authority: string;

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'mcp-corp-settings-'));
  authority = path.join(folder, 'ca.pem');
  writeFileSync(authority, makeCertificate({ name: 'Autoridad' }).cert);
});

afterAll(() => rmSync(folder, { recursive: true }));

const context = (environment: string) => ({ environment, production: environment === 'production' });

/** `variable problem`, one a line; empty when all is well. */
function problemsOf(fields: Partial<PostgresSettings>, environment = 'local'): string {
  const settings = Object.assign(new PostgresSettings(), fields);
  return settings
    .crossCheck(context(environment))
    .map(({ variable, problem }) => `${variable} ${problem}`)
    .join('\n');
}

const dsn = 'postgresql://app:secreto@db.example.com/clientes';

describe('the settings of the customer database', () => {
  it('have the defaults of the reference', () => {
    expect(new PostgresSettings()).toMatchObject({
      enabled: false,
      minPoolSize: 1,
      maxPoolSize: 10,
      poolOpenTimeoutSeconds: 10,
      maxConcurrency: 10,
      acquireTimeoutSeconds: 2,
      operationTimeoutSeconds: 5,
      allowPlaintext: false,
    });
  });

  it('ask for nothing while the source is not enabled', () => {
    expect(problemsOf({}, 'production')).toBe('');
  });

  it('ask for a DSN when it is', () => {
    expect(problemsOf({ enabled: true })).toBe(
      'MCP_CORP_POSTGRES__DSN is required when MCP_CORP_POSTGRES__ENABLED is true',
    );
  });

  it('keep the pool in order: min ≤ max, and no fewer connections than slots', () => {
    expect(problemsOf({ minPoolSize: 11 })).toBe(
      'MCP_CORP_POSTGRES__MIN_POOL_SIZE must not be more than MCP_CORP_POSTGRES__MAX_POOL_SIZE',
    );
    expect(problemsOf({ maxPoolSize: 9 })).toBe(
      'MCP_CORP_POSTGRES__MAX_POOL_SIZE must be at least MCP_CORP_POSTGRES__MAX_CONCURRENCY',
    );
  });

  it('show the URL form to somebody who wrote the keyword form, and nothing of what was written', () => {
    const problem = problemsOf({ enabled: true, dsn: 'host=db.example.com user=app password=secreto' });
    expect(problem).toMatch(/^MCP_CORP_POSTGRES__DSN must have the URL form postgresql:\/\/user:password@host/);
    expect(problem).not.toMatch(/secreto|example/);
  });

  it('read the certificates that the DSN names', () => {
    expect(problemsOf({ enabled: true, dsn: `${dsn}?sslmode=verify-ca&sslrootcert=${authority}` })).toBe('');
    expect(problemsOf({ enabled: true, dsn: `${dsn}?sslmode=verify-ca&sslrootcert=/no/such/file` })).toBe(
      'MCP_CORP_POSTGRES__DSN has an sslrootcert that cannot be read',
    );
  });
});

describe('production', () => {
  const inProduction = (fields: Partial<PostgresSettings>) => problemsOf({ enabled: true, ...fields }, 'production');

  it.each(['', '?sslmode=disable', '?sslmode=prefer', '?sslmode=require'])('refuses a DSN with %p', (query) => {
    expect(inProduction({ dsn: dsn + query })).toBe(
      'MCP_CORP_POSTGRES__DSN must ask for verified TLS in production (sslmode=verify-full), ' +
        'or set MCP_CORP_POSTGRES__ALLOW_PLAINTEXT=true',
    );
  });

  it('accepts verified TLS, a database on this machine, and the written waiver', () => {
    expect(inProduction({ dsn: `${dsn}?sslmode=verify-full` })).toBe('');
    expect(inProduction({ dsn: `${dsn}?sslmode=require&sslrootcert=${authority}` })).toBe('');
    for (const host of ['localhost', '127.0.0.1', '[::1]']) {
      expect(inProduction({ dsn: `postgresql://app:secreto@${host}/clientes` })).toBe('');
    }
    expect(inProduction({ dsn, allowPlaintext: true })).toBe('');
  });
});

describe('from the environment', () => {
  it.each([
    ['MIN_POOL_SIZE', '-1'],
    ['MAX_POOL_SIZE', '0'],
    ['MAX_POOL_SIZE', '1001'],
    ['POOL_OPEN_TIMEOUT_SECONDS', '0'],
    ['POOL_OPEN_TIMEOUT_SECONDS', 'NaN'],
    ['ALLOW_PLAINTEXT', 'perhaps'],
  ])('%s=%s is out of bounds', (name, value) => {
    const variable = `MCP_CORP_POSTGRES__${name}`;
    expect(() => loadSettings({ [variable]: value }, [PostgresSettings])).toThrow(ConfigurationError);
    expect(() => loadSettings({ [variable]: value }, [PostgresSettings])).toThrow(new RegExp(`^${variable} `, 'm'));
  });
});
