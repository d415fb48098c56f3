import { describe, expect, it } from '@jest/globals';
import { loadSettings } from '../../../src/config/load-settings.js';
import { ConfigurationError } from '../../../src/config/problem.js';
import { GovernanceSettings } from '../../../src/governance/governance.settings.js';

const load = (env: Record<string, string>) => loadSettings(env, [GovernanceSettings]).get(GovernanceSettings);
const problems = (env: Record<string, string>) => {
  try {
    load(env);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.problems.map(({ variable, problem }) => `${variable} ${problem}`);
  }
};

describe('the settings of governance', () => {
  it('are open by default, outside of production only', () => {
    expect(load({}).governed).toBe(false);
    expect(problems({ MCP_CORP_ENVIRONMENT: 'production' }).join()).toContain('GOVERNANCE__MODE must be written down');
    expect(problems({ MCP_CORP_ENVIRONMENT: 'production', MCP_CORP_GOVERNANCE__MODE: 'open' }).join()).not.toContain(
      'GOVERNANCE',
    );
  });

  it('need a policy file with policy, and none without', () => {
    expect(load({ MCP_CORP_GOVERNANCE__MODE: 'policy', MCP_CORP_GOVERNANCE__POLICY: 'p.yaml' })).toMatchObject({
      governed: true,
      policy: 'p.yaml',
      keyHeader: 'Authorization',
    });
    expect(problems({ MCP_CORP_GOVERNANCE__MODE: 'policy' }).join()).toContain('GOVERNANCE__POLICY must name');
    expect(problems({ MCP_CORP_GOVERNANCE__POLICY: 'p.yaml' }).join()).toContain('has no effect');
    expect(problems({ MCP_CORP_GOVERNANCE__MODE: 'cerrado' })).toHaveLength(1);
  });

  it.each(['X-Api-Key', 'authorization'])('take the credential from the header %s', (header) => {
    expect(load({ MCP_CORP_GOVERNANCE__KEY_HEADER: header }).keyHeader).toBe(header);
  });

  it.each(['Host', 'content-type', 'Mcp-Name', 'con espacio', 'Cookie'])('refuse the header %s', (header) => {
    expect(problems({ MCP_CORP_GOVERNANCE__KEY_HEADER: header })).toHaveLength(1);
  });

  const policy = { MCP_CORP_GOVERNANCE__MODE: 'policy', MCP_CORP_GOVERNANCE__POLICY: 'p.yaml' };
  const G = (more: Record<string, string>) =>
    Object.fromEntries(Object.entries(more).map(([name, value]) => [`MCP_CORP_GOVERNANCE__${name}`, value]));

  it.each([
    ['a policy over plain http', { POLICY: 'http://p.example.com/p.yaml' }, 'POLICY must be https'],
    ['a repository without a path', { POLICY: 'git+https://g.example.com/r#main' }, 'POLICY must have the form git+'],
    [
      'certificates in Authorization',
      { MTLS_HEADER: 'authorization', MTLS_PROXIES: '10.0.0.1' },
      'never Authorization',
    ],
    [
      'certificates in the key header',
      { MTLS_HEADER: 'X-Key', KEY_HEADER: 'x-key', MTLS_PROXIES: '10.0.0.1' },
      'differ',
    ],
    ['certificates from anybody', { MTLS_HEADER: 'X-Client' }, 'MTLS_PROXIES must list'],
    ['proxies by name', { MTLS_HEADER: 'X-Client', MTLS_PROXIES: 'proxy.example.com' }, 'must list IP addresses'],
    ['proxies without a header', { MTLS_PROXIES: '10.0.0.1' }, 'has no effect'],
    ['OAuth in another header', { CHALLENGE: 'oauth', KEY_HEADER: 'X-Key' }, 'only with'],
    ['another challenge', { CHALLENGE: 'basic' }, 'CHALLENGE'],
    ['a resource over plain http', { RESOURCE_URL: 'http://mcp.example.com/mcp' }, 'RESOURCE_URL must be'],
    ['a resource with a fragment', { RESOURCE_URL: 'https://mcp.example.com/mcp#x' }, 'RESOURCE_URL must be'],
    ['a Vault over plain http', { VAULT_ADDRESS: 'http://vault.example.com' }, 'VAULT_ADDRESS must be'],
    ['a token of Vault written down', { VAULT_TOKEN: 's.SENTINELA' }, 'VAULT_TOKEN must be a reference'],
    ['counters in a file', { USAGE_STORE: 'file:///SENTINELA' }, 'USAGE_STORE must be'],
    ['counters in no database', { USAGE_STORE: 'redis://h/SENTINELA' }, 'USAGE_STORE must be'],
  ] as [string, Record<string, string>, string][])('refuse %s, without the value', (_, variables, problem) => {
    const found = problems({ ...policy, ...G(variables) });
    expect(found.join()).toContain(problem);
    expect(found.join()).not.toMatch(/SENTINELA|example\.com\/(?!mcp)/);
  });

  it.each([
    { POLICY: 'https://p.example.com/p.yaml' },
    { POLICY: 'git+ssh://git@g.example.com/r#main:p.yaml' },
    { MTLS_HEADER: 'X-Forwarded-Client-Cert', MTLS_PROXIES: '10.0.0.1, fd00::/64' },
    { CHALLENGE: 'oauth', RESOURCE_URL: 'https://mcp.example.com/mcp' },
    { VAULT_ADDRESS: 'http://127.0.0.1:8200', VAULT_TOKEN: 'file:///vault/token' },
    { USAGE_STORE: 'rediss://u:p@redis.example.com:6380/2' },
    { USAGE_STORE: 'redis://127.0.0.1' },
  ] as Record<string, string>[])('take %j', (variables) => {
    expect(problems({ ...policy, ...G(variables) })).toEqual([]);
  });

  it('want TLS to the counters, and the name of the resource, in production', () => {
    const production = { ...policy, MCP_CORP_ENVIRONMENT: 'production' };
    const about = (more: Record<string, string>) => problems({ ...production, ...G(more) }).join();
    expect(about({ USAGE_STORE: 'redis://redis.example.com' })).toContain('must be rediss:// in production');
    expect(about({ USAGE_STORE: 'redis://redis.example.com', USAGE_ALLOW_PLAINTEXT: 'true' })).not.toContain(
      'USAGE_STORE',
    );
    expect(about({ USAGE_STORE: 'redis://127.0.0.1' })).not.toContain('USAGE_STORE');
    expect(about({ CHALLENGE: 'oauth' })).toContain('RESOURCE_URL must be set in production');
  });
});
