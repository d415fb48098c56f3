import { describe, expect, it } from '@jest/globals';
import { loadSettings } from '../../../src/config/load-settings.js';
import { ServiceSettings } from '../../../src/config/service.settings.js';
import { problemsOf, rendered, type Env } from './sections.js';

const service = (env: Env) => loadSettings(env, []).get(ServiceSettings);
const told = (env: Env) => rendered(problemsOf(() => service(env)));

describe('the service settings', () => {
  it('have the defaults of the reference', () => {
    expect({ ...service({}) }).toEqual({
      serviceName: 'mcp-corp',
      environment: 'local',
      host: '0.0.0.0',
      port: 8000,
      logLevel: 'INFO',
      gracefulShutdownTimeoutSeconds: 10,
      drainSeconds: 5,
      replicas: 1,
    });
  });

  it.each(['local', 'staging', 'production'])('know the environment %s', (environment) => {
    expect(service({ MCP_CORP_ENVIRONMENT: environment }).environment).toBe(environment);
  });

  it.each(['Production', 'PRODUCTION', 'prod', 'production ', ' production', 'produccion', 'dev', ' '])(
    'refuse the environment %j: production must not be missed by its spelling',
    (environment) => {
      expect(told({ MCP_CORP_ENVIRONMENT: environment })).toContain(
        'MCP_CORP_ENVIRONMENT must be one of the following values: local, staging, production',
      );
    },
  );

  it('keep the fraction of the grace', () => {
    expect(service({ MCP_CORP_GRACEFUL_SHUTDOWN_TIMEOUT_SECONDS: '0.9' }).gracefulShutdownTimeoutSeconds).toBe(0.9);
  });

  it('take the level in any case and under Python’s aliases', () => {
    expect(service({ MCP_CORP_LOG_LEVEL: 'debug' }).logLevel).toBe('DEBUG');
    expect(service({ MCP_CORP_LOG_LEVEL: 'Warn' }).logLevel).toBe('WARN');
  });

  it.each([
    ['MCP_CORP_LOG_LEVEL', 'VERBOSE'],
    ['MCP_CORP_PORT', '-1'],
    ['MCP_CORP_PORT', '65536'],
    ['MCP_CORP_PORT', '80.5'],
    ['MCP_CORP_HOST', 'no host'],
    ['MCP_CORP_SERVICE_NAME', '   '],
    ['MCP_CORP_SERVICE_NAME', 'two\nlines'],
    ['MCP_CORP_SERVICE_NAME', 'x'.repeat(64)],
    ['MCP_CORP_GRACEFUL_SHUTDOWN_TIMEOUT_SECONDS', '-0.1'],
    ['MCP_CORP_DRAIN_SECONDS', '601'],
    ['MCP_CORP_REPLICAS', '0'],
  ])('refuse %s=%j', (name, value) => {
    expect(told({ [name]: value })).toMatch(new RegExp(`^${name} must `));
  });

  it('an empty service name is the default one', () => {
    expect(service({ MCP_CORP_SERVICE_NAME: '' }).serviceName).toBe('mcp-corp');
  });
});
