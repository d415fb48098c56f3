import { describe, expect, it } from '@jest/globals';
import { AuditSettings } from '../../../src/audit/audit.settings.js';
import { loadSettings } from '../../../src/config/load-settings.js';
import { GovernanceSettings } from '../../../src/governance/governance.settings.js';
import { DiagnosticsSettings } from '../../../src/health/diagnostics.settings.js';
import { HttpSettings, LOOPBACK_HOSTS } from '../../../src/mcp/http.settings.js';
import { problemsOf, rendered, type Env } from './sections.js';

const SECTIONS = [AuditSettings, HttpSettings, DiagnosticsSettings, GovernanceSettings];
const SECRET = 'clave-secreta-de-prueba-de-32-by';
const PRODUCTION = {
  MCP_CORP_ENVIRONMENT: 'production',
  MCP_CORP_AUDIT_HMAC_SECRET: SECRET,
  MCP_CORP_HTTP__ALLOWED_HOSTS: 'mcp.example.com',
  MCP_CORP_GOVERNANCE__MODE: 'open',
};
const load = (env: Env, files: Readonly<Record<string, string>> = {}) =>
  loadSettings(env, SECTIONS, { readFile: (path) => Buffer.from(files[path] ?? '') });
const told = (env: Env) => rendered(problemsOf(() => load(env)));
const MISSING_SECRET = 'MCP_CORP_AUDIT_HMAC_SECRET es obligatorio cuando MCP_CORP_ENVIRONMENT=production';

describe('production', () => {
  it('starts when everything it asks for is there', () => {
    const settings = load(PRODUCTION);
    expect(settings.get(AuditSettings).hmacSecret).toBe(SECRET);
    expect(settings.get(HttpSettings).allowedHosts).toEqual(['mcp.example.com']);
    expect(settings.get(GovernanceSettings).mode).toBe('open');
  });

  it('starts with the secret in a file', () => {
    const { MCP_CORP_AUDIT_HMAC_SECRET: _, ...rest } = PRODUCTION;
    const settings = load({ ...rest, MCP_CORP_AUDIT_HMAC_SECRET_FILE: '/s' }, { '/s': `${SECRET}\n` });
    expect(settings.get(AuditSettings).hmacSecret).toBe(SECRET);
  });

  it('asks for all of it at once', () => {
    expect(told({ MCP_CORP_ENVIRONMENT: 'production' }).split('\n')).toEqual([
      expect.stringContaining(MISSING_SECRET),
      'MCP_CORP_HTTP__ALLOWED_HOSTS must be set in production: the names under which clients reach this server',
      'MCP_CORP_GOVERNANCE__MODE must be written down in production: open or policy',
    ]);
  });

  it.each(['', ' ', '    \t  ', ' '.repeat(40)])('takes %j for no secret at all', (secret) => {
    expect(told({ ...PRODUCTION, MCP_CORP_AUDIT_HMAC_SECRET: secret })).toContain(MISSING_SECRET);
  });

  it('refuses a secret shorter than 32 bytes, counted in bytes', () => {
    const secret = (value: string) => ({ ...PRODUCTION, MCP_CORP_AUDIT_HMAC_SECRET: value });
    expect(told(secret('x'.repeat(31)))).toBe('MCP_CORP_AUDIT_HMAC_SECRET must have at least 32 bytes in production');
    expect(() => load(secret('ñ'.repeat(16)))).not.toThrow();
  });

  it('accepts loopback hosts when they are written down', () => {
    expect(() => load({ ...PRODUCTION, MCP_CORP_HTTP__ALLOWED_HOSTS: LOOPBACK_HOSTS.join(',') })).not.toThrow();
  });

  it.each(['Production', 'prod', ' production', 'PRODUCTION'])(
    'misspelt as %j shows its problems too',
    (environment) => {
      const text = told({ MCP_CORP_ENVIRONMENT: environment });
      expect(text).toContain('MCP_CORP_ENVIRONMENT must be one of');
      expect(text).toContain(MISSING_SECRET);
    },
  );
});

describe.each(['local', 'staging'])('the environment %s', (environment) => {
  it('starts with nothing set', () => {
    const settings = load({ MCP_CORP_ENVIRONMENT: environment });
    expect(settings.get(AuditSettings).hmacSecret).toBeUndefined();
    expect(settings.get(GovernanceSettings).mode).toBeUndefined();
    expect(settings.get(HttpSettings)).toMatchObject({ maxBodyBytes: 1_048_576, allowedHosts: LOOPBACK_HOSTS });
  });

  it('accepts a short secret', () => {
    const env = { MCP_CORP_ENVIRONMENT: environment, MCP_CORP_AUDIT_HMAC_SECRET: 'corta' };
    expect(load(env).get(AuditSettings).hmacSecret).toBe('corta');
  });
});

describe('a policy', () => {
  it.each(['local', 'production'])('without its file is refused in %s, not served openly', (environment) => {
    const env = { ...PRODUCTION, MCP_CORP_ENVIRONMENT: environment, MCP_CORP_GOVERNANCE__MODE: 'policy' };
    expect(told(env)).toBe(
      'MCP_CORP_GOVERNANCE__POLICY must name the policy file, because MCP_CORP_GOVERNANCE__MODE is policy',
    );
  });
});

describe('a key rotation', () => {
  const rotation = (current: string, previous: string) => ({
    MCP_CORP_AUDIT_HMAC_SECRET: current,
    MCP_CORP_AUDIT_HMAC_SECRET_PREVIOUS: previous,
  });

  it('has two keys, the previous one as short as it was', () => {
    const settings = load({ ...PRODUCTION, ...rotation(SECRET, 'corta') });
    expect(settings.get(AuditSettings)).toMatchObject({ hmacSecret: SECRET, hmacSecretPrevious: 'corta' });
  });

  it('needs a current key that is another one', () => {
    expect(told(rotation('', 'x'))).toMatch(/^MCP_CORP_AUDIT_HMAC_SECRET_PREVIOUS needs MCP_CORP_AUDIT_HMAC_SECRET/);
    expect(told(rotation('x', 'x'))).toMatch(/^MCP_CORP_AUDIT_HMAC_SECRET_PREVIOUS must differ/);
  });
});

describe('the audit’s file', () => {
  it('is MCP_CORP_AUDIT__FILE and not a secret file', () => {
    expect(load({ MCP_CORP_AUDIT__FILE: '/var/log/audit' }).get(AuditSettings).file).toBe('/var/log/audit');
  });
});

describe('the edge', () => {
  it.each([
    ['MCP_CORP_HTTP__MAX_BODY_BYTES', '1023'],
    ['MCP_CORP_HTTP__MAX_CALLS', '0'],
    ['MCP_CORP_HTTP__STATE_SECRET', 'short'],
    ['MCP_CORP_HTTP__ALLOWED_HOSTS', 'https://mcp.example.com'],
    ['MCP_CORP_HTTP__ALLOWED_HOSTS', '*'],
    ['MCP_CORP_HTTP__ALLOWED_ORIGINS', 'mcp.example.com'],
    ['MCP_CORP_HTTP__ALLOWED_ORIGINS', 'https://mcp.example.com/path'],
    ['MCP_CORP_HTTP__ALLOWED_ORIGINS', 'null'],
    ['MCP_CORP_DIAGNOSTICS__TOKEN', 'two words'],
  ])('refuses %s=%s', (name, value) => {
    expect(told({ [name]: value })).toMatch(new RegExp(`^${name} must `));
  });

  it('accepts hosts with and without a port, and exact origins', () => {
    const env = {
      MCP_CORP_HTTP__ALLOWED_HOSTS: 'mcp.example.com, mcp.example.com:8443,[::1]:8000,127.0.0.1',
      MCP_CORP_HTTP__ALLOWED_ORIGINS: 'https://app.example.com, http://localhost:6274',
      MCP_CORP_HTTP__STATE_SECRET: SECRET,
    };
    expect(load(env).get(HttpSettings)).toMatchObject({
      allowedHosts: ['mcp.example.com', 'mcp.example.com:8443', '[::1]:8000', '127.0.0.1'],
      allowedOrigins: ['https://app.example.com', 'http://localhost:6274'],
    });
  });
});
