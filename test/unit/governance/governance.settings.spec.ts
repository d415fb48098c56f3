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
});
