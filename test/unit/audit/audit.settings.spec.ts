import { describe, expect, it } from '@jest/globals';
import { AuditSettings } from '../../../src/audit/audit.settings.js';

const problems = (values: Partial<AuditSettings>, environment = 'production') =>
  Object.assign(new AuditSettings(), values)
    .crossCheck({ production: environment === 'production', environment })
    .map(({ variable }) => variable);

const LONG = 'clave-de-produccion-de-32-bytes!';

describe('AuditSettings', () => {
  it('want a key of at least 32 bytes in production only', () => {
    expect(problems({})).toEqual(['MCP_CORP_AUDIT_HMAC_SECRET']);
    expect(problems({ hmacSecret: LONG.slice(1) })).toEqual(['MCP_CORP_AUDIT_HMAC_SECRET']);
    expect(problems({ hmacSecret: LONG })).toEqual([]);
    for (const environment of ['local', 'staging']) expect(problems({}, environment)).toEqual([]);
  });

  it('take a previous key, also a short one, only beside a current one that differs', () => {
    expect(problems({ hmacSecret: LONG, hmacSecretPrevious: 'corta' })).toEqual([]);
    expect(problems({ hmacSecret: LONG, hmacSecretPrevious: LONG })).toEqual(['MCP_CORP_AUDIT_HMAC_SECRET_PREVIOUS']);
    expect(problems({ hmacSecretPrevious: LONG }, 'local')).toEqual(['MCP_CORP_AUDIT_HMAC_SECRET_PREVIOUS']);
  });
});
