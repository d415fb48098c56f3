import { describe, expect, it } from '@jest/globals';
import { load, problemsOf, rendered, type Env } from './sections.js';

const told = (env: Env, dotenv?: string) => rendered(problemsOf(() => load(env, { dotenv })));

describe('a name of ours that no setting claims', () => {
  it.each([
    ['MCP_CORP_STORE_DSN', 'MCP_CORP_STORE__DSN'],
    ['MCP_CORP_STORE__DNS', 'MCP_CORP_STORE__DSN'],
    ['MCP_CORP_STORE__MAX_POOLSIZE', 'MCP_CORP_STORE__MAX_POOL_SIZE'],
    ['MCP_CORP_STORE__DNS_FILE', 'MCP_CORP_STORE__DSN_FILE'],
    ['MCP_CORP_GRACEFUL_SHUTDOWN_TIMEOUT', 'MCP_CORP_GRACEFUL_SHUTDOWN_TIMEOUT_SECONDS'],
  ])('%s stops the start and names %s', (name, hint) => {
    expect(told({ [name]: 'x' })).toBe(`${name} is not a known variable; did you mean ${hint}?`);
  });

  it('has no hint when nothing is near', () => {
    expect(told({ MCP_CORP_SOMETHING_ELSE_ENTIRELY: 'x' })).toBe(
      'MCP_CORP_SOMETHING_ELSE_ENTIRELY is not a known variable',
    );
  });

  it('is an error also when empty, also in .env, and once when in both', () => {
    const line = 'MCP_CORP_NOPE_NOPE_NOPE is not a known variable';
    expect(told({ MCP_CORP_NOPE_NOPE_NOPE: '' })).toBe(line);
    expect(told({}, 'MCP_CORP_NOPE_NOPE_NOPE=')).toBe(line);
    expect(told({ MCP_CORP_NOPE_NOPE_NOPE: 'x' }, 'MCP_CORP_NOPE_NOPE_NOPE=1')).toBe(line);
  });

  it.each([
    ['mcp_corp_port', 'MCP_CORP_PORT'],
    ['MCP_CORP_store__dsn', 'MCP_CORP_STORE__DSN'],
    ['MCP_CORP_STORE__DSN_file', 'MCP_CORP_STORE__DSN_FILE'],
  ])('%s must be written in upper case', (name, upper) => {
    expect(told({ [name]: '8000' })).toBe(`${name} must be written in upper case: ${upper}`);
  });

  it('is a parent with JSON: the children are set one by one', () => {
    const remedy = 'is not read: no JSON in a parent variable, set MCP_CORP_STORE__… one by one';
    expect(told({ MCP_CORP_STORE: '{"enabled":true}' })).toBe(`MCP_CORP_STORE ${remedy}`);
    expect(told({ MCP_CORP_STORE_FILE: '/x' })).toBe(`MCP_CORP_STORE_FILE ${remedy}`);
  });

  it('is shown only as far as a name goes, and not for ever', () => {
    expect(told({ 'MCP_CORP_STORE__DSN hunter2': 'x' })).not.toContain('hunter2');
    expect(told({ [`MCP_CORP_${'X'.repeat(5000)}`]: 'x' }).length).toBeLessThan(300);
  });

  it('must begin with our prefix to be ours', () => {
    expect(() => load({ MCP_CORPORATION: 'x', MCPCORP_PORT: 'x', MCP_CORP: 'x', PATH: 'x' })).not.toThrow();
  });
});

describe('names that a Kubernetes service link injects', () => {
  const LINKS = {
    MCP_CORP_SERVICE_HOST: '10.96.0.7',
    MCP_CORP_SERVICE_PORT: '8000',
    MCP_CORP_SERVICE_PORT_HTTP: '8000',
    MCP_CORP_PORT: 'tcp://10.96.0.7:8000',
    MCP_CORP_PORT_8000_TCP: 'tcp://10.96.0.7:8000',
    MCP_CORP_PORT_8000_TCP_PROTO: 'tcp',
    MCP_CORP_PORT_8000_TCP_PORT: '8000',
    MCP_CORP_PORT_8000_TCP_ADDR: '10.96.0.7',
    MCP_CORP_STUB_SERVICE_HOST: '10.96.0.8',
    MCP_CORP_STUB_PORT: 'tcp://10.96.0.8:8080',
  };

  it.each(Object.entries(LINKS))('%s=%s gets the remedy and nothing else', (name, value) => {
    expect(told({ [name]: value })).toBe(
      `${name} comes from a Kubernetes service link, not from you: set \`enableServiceLinks: false\` in the pod spec`,
    );
  });

  it('are all told at once, without an address', () => {
    const text = told(LINKS);
    expect(text.split('\n')).toHaveLength(Object.keys(LINKS).length);
    expect(text).not.toContain('10.96');
  });

  it('do not include a port that the operator has set', () => {
    expect(() => load({ MCP_CORP_PORT: '8001' })).not.toThrow();
  });
});

describe('names for tests', () => {
  const env = { MCP_CORP_TEST_POSTGRES_DSN: 'x', MCP_CORP_TEST_SALDO_API_URL: 'y' };

  it('are nobody’s business outside production', () => {
    expect(() => load(env)).not.toThrow();
  });

  it('are refused in production', () => {
    expect(told({ ...env, MCP_CORP_ENVIRONMENT: 'production' })).toBe(
      'MCP_CORP_TEST_POSTGRES_DSN is for tests only: remove it in production\n' +
        'MCP_CORP_TEST_SALDO_API_URL is for tests only: remove it in production',
    );
  });
});
