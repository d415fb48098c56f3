import { describe, expect, it } from '@jest/globals';
import { loadSettings } from '../../../../src/config/load-settings.js';
import { ConfigurationError } from '../../../../src/config/problem.js';
import { makeCertificate } from '../../../support/certificates.js';
import { ApiSettings } from './support.js';

type Variables = Record<string, string>;

function load(own: Variables, others: Variables = {}): ApiSettings {
  const env = Object.fromEntries(Object.entries(own).map(([name, value]) => [`MCP_CORP_API__${name}`, value]));
  return loadSettings({ ...env, ...others }, [ApiSettings]).get(ApiSettings);
}

function problemsOf(own: Variables, environment?: string): string[] {
  try {
    load(own, environment === undefined ? {} : { MCP_CORP_ENVIRONMENT: environment });
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.problems.map(({ variable, problem }) => `${variable.replace('MCP_CORP_API__', '')} ${problem}`);
  }
  return [];
}

const authority = makeCertificate({ name: 'Autoridad' });
const client = makeCertificate({ name: 'cliente', issuer: authority });

describe('HttpSourceSettings', () => {
  it("has the reference's defaults", () => {
    const settings = load({});
    expect(settings).toMatchObject({
      enabled: false,
      requestTimeoutSeconds: 5,
      maxResponseBytes: 1_048_576,
      allowPlaintext: false,
    });
    expect(settings.baseUrl).toBeUndefined();
    expect(settings.credentials()).toEqual({});
  });

  it('needs a base URL only when it is enabled', () => {
    expect(problemsOf({})).toEqual([]);
    expect(problemsOf({ ENABLED: 'true' })).toEqual(['BASE_URL must be set, because MCP_CORP_API__ENABLED is true']);
    expect(problemsOf({ ENABLED: 'true', BASE_URL: '' })).toHaveLength(1);
  });

  it('accepts http and https, with a port and a path prefix', () => {
    for (const url of ['http://localhost:8080', 'https://api.example/v1/', 'http://[::1]:8080']) {
      expect(problemsOf({ ENABLED: 'true', BASE_URL: url })).toEqual([]);
    }
  });

  it.each(['localhost:8080', 'ftp://api.example', 'api.example', 'http://', 'file:///etc/passwd', 'nada'])(
    'refuses %s as a base URL, without repeating it',
    (url) => {
      expect(problemsOf({ ENABLED: 'true', BASE_URL: url })).toEqual([
        'BASE_URL must be a URL that begins with http:// or https://',
      ]);
    },
  );

  it('refuses credentials, a query and a fragment in the base URL', () => {
    expect(problemsOf({ ENABLED: 'true', BASE_URL: 'http://ana:secreta@api.example' })).toEqual([
      'BASE_URL must not contain credentials; use MCP_CORP_API__BEARER_TOKEN or MCP_CORP_API__API_KEY',
    ]);
    for (const end of ['?a=1', '?', '#b']) {
      expect(problemsOf({ ENABLED: 'true', BASE_URL: `http://api.example/${end}` })).toEqual([
        'BASE_URL must end before the query and the fragment',
      ]);
    }
  });

  it('needs TLS in production, unless it is this machine or the waiver is written down', () => {
    const plain = { ENABLED: 'true', BASE_URL: 'http://api.example' };
    expect(problemsOf(plain, 'production')).toEqual([
      'BASE_URL must use https in production, unless the waiver MCP_CORP_API__ALLOW_PLAINTEXT=true is written down',
    ]);
    expect(problemsOf(plain, 'staging')).toEqual([]);
    expect(problemsOf({ ...plain, ALLOW_PLAINTEXT: 'true' }, 'production')).toEqual([]);
    expect(problemsOf({ ...plain, BASE_URL: 'https://api.example' }, 'production')).toEqual([]);
    expect(problemsOf({ ...plain, BASE_URL: 'http://127.0.0.1:8080' }, 'production')).toEqual([]);
    expect(problemsOf({ ...plain, BASE_URL: 'http://[::1]:8080' }, 'production')).toEqual([]);
    expect(problemsOf({ ...plain, BASE_URL: 'http://127.0.0.1.example.com' }, 'production')).toHaveLength(1);
    expect(problemsOf({ ...plain, ENABLED: 'false' }, 'production')).toEqual([]);
  });

  it('takes a bearer token or an API key, not both', () => {
    expect(load({ BEARER_TOKEN: 'ficha' }).credentials()).toEqual({ Authorization: 'Bearer ficha' });
    expect(load({ API_KEY: 'clave' }).credentials()).toEqual({ 'X-API-Key': 'clave' });
    expect(load({ API_KEY: 'clave', API_KEY_HEADER: 'Ocp-Key' }).credentials()).toEqual({ 'Ocp-Key': 'clave' });
    expect(problemsOf({ API_KEY: 'clave', BEARER_TOKEN: 'ficha' })).toEqual([
      'API_KEY must not be set together with MCP_CORP_API__BEARER_TOKEN',
    ]);
  });

  it('refuses what could end a header line', () => {
    for (const [name, value] of [
      ['BEARER_TOKEN', 'a\r\nX: y'],
      ['API_KEY', 'a b'],
      ['API_KEY', 'ñ'],
      ['API_KEY_HEADER', 'X:Y'],
    ] as const) {
      expect(problemsOf({ [name]: value })).toHaveLength(1);
    }
  });

  it('reads certificates that fit, and says which variable does not', () => {
    const { cert, key } = client;
    expect(problemsOf({ TLS_CERT: cert, TLS_KEY: key, TLS_CA: authority.cert })).toEqual([]);
    expect(load({ TLS_CERT: cert, TLS_KEY: key, TLS_CA: authority.cert }).tls().ca).toContain('BEGIN CERTIFICATE');
    expect(problemsOf({ TLS_CERT: cert })).toEqual(['TLS_KEY must be set together with MCP_CORP_API__TLS_CERT']);
    expect(problemsOf({ TLS_KEY: key })).toEqual(['TLS_CERT must be set together with MCP_CORP_API__TLS_KEY']);
    const unusable = 'TLS_CERT must be a PEM certificate, and MCP_CORP_API__TLS_KEY its PEM key';
    expect(problemsOf({ TLS_CERT: cert, TLS_KEY: authority.key })).toEqual([unusable]);
    expect(problemsOf({ TLS_CERT: 'x', TLS_KEY: 'y' })).toEqual([unusable]);
    expect(problemsOf({ TLS_CA: 'x' })).toEqual(['TLS_CA must be one or more PEM certificates']);
  });

  it('lets the request timeout act only when it is the shorter one', () => {
    expect(load({}).requestTimeoutMs()).toBeUndefined();
    expect(load({ REQUEST_TIMEOUT_SECONDS: '6' }).requestTimeoutMs()).toBeUndefined();
    expect(load({ REQUEST_TIMEOUT_SECONDS: '1.5' }).requestTimeoutMs()).toBe(1500);
  });

  it.each([
    ['REQUEST_TIMEOUT_SECONDS', ['0', '-1', 'NaN', 'Infinity', '601']],
    ['MAX_RESPONSE_BYTES', ['0', '1023', '1.5', 'NaN', '67108865']],
  ])('refuses %s out of bounds', (name, values) => {
    for (const value of values) expect(problemsOf({ [name]: value })).toHaveLength(1);
  });

  it('hides its secrets when it is printed whole', () => {
    const shown = JSON.stringify(load({ BEARER_TOKEN: 'ficha-secreta', TLS_CERT: client.cert, TLS_KEY: client.key }));
    expect(shown).not.toContain('ficha-secreta');
    expect(shown).not.toContain('PRIVATE KEY');
  });
});
