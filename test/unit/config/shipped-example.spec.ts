import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { SECTIONS } from '../../../src/app.module.js';
import { loadSettings } from '../../../src/config/load-settings.js';
import { configurationMarkdown, environmentExample } from '../../../src/config/reference.js';

const shipped = (name: string) => readFileSync(resolve(import.meta.dirname, '../../..', name), 'utf8');

describe('the shipped configuration', () => {
  it('.env.example copied to .env unchanged starts, with both sources switched off', () => {
    const settings = loadSettings({}, SECTIONS, { dotenv: shipped('.env.example') });
    expect(SECTIONS.every((section) => settings.has(section))).toBe(true);
    expect(parseEnv(shipped('.env.example'))).toMatchObject({
      MCP_CORP_POSTGRES__ENABLED: 'false',
      MCP_CORP_POSTGRES__DSN: 'postgresql://mcp_corp:mcp_corp@localhost:5432/mcp_corp',
      MCP_CORP_POSTGRES__RATE_LIMIT_PER_SECOND: '',
      MCP_CORP_SALDO_API__ENABLED: 'false',
      MCP_CORP_SALDO_API__BASE_URL: 'http://localhost:8080',
      MCP_CORP_SALDO_API__RATE_LIMIT_PER_SECOND: '',
      MCP_CORP_AUDIT_HMAC_SECRET: '',
    });
  });

  it('says what the classes say', () => {
    expect(shipped('.env.example')).toBe(environmentExample(SECTIONS));
    expect(shipped('docs/configuration.md')).toBe(configurationMarkdown(SECTIONS));
  });
});
