import { parseEnv } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { AuditSettings } from '../../../src/audit/audit.settings.js';
import { loadSettings } from '../../../src/config/load-settings.js';
import { configurationMarkdown, environmentExample } from '../../../src/config/reference.js';
import { ServiceSettings } from '../../../src/config/service.settings.js';
import { settingsOf } from '../../../src/config/setting.js';
import { GovernanceSettings } from '../../../src/governance/governance.settings.js';
import { DiagnosticsSettings } from '../../../src/health/diagnostics.settings.js';
import { HttpSettings } from '../../../src/mcp/http.settings.js';
import { StoreSettings } from './sections.js';

const SECTIONS = [
  ServiceSettings,
  AuditSettings,
  HttpSettings,
  DiagnosticsSettings,
  GovernanceSettings,
  StoreSettings,
] as const;

const row = (variable: string) =>
  configurationMarkdown(SECTIONS)
    .split('\n')
    .find((line) => line.startsWith(`| \`${variable}\``));

describe('the configuration reference', () => {
  it('has one row per setting, and each says what it means', () => {
    for (const { variable, doc } of SECTIONS.flatMap((section) => settingsOf(section))) {
      expect(row(variable)).toContain(doc);
    }
  });

  it('shows type, unit, default, bounds, example and secrecy', () => {
    expect(row('MCP_CORP_STORE__MAX_POOL_SIZE')).toBe(
      '| `MCP_CORP_STORE__MAX_POOL_SIZE` | integer | connections | `10` | ≥ 1, ≤ 100 | Pool size. |  |',
    );
    expect(row('MCP_CORP_STORE__DSN')).toBe(
      '| `MCP_CORP_STORE__DSN` | text |  | not set |  | Where it is. Example: `store://localhost/demo`. | yes |',
    );
    expect(row('MCP_CORP_STORE__RATE_LIMIT')).toBe(
      '| `MCP_CORP_STORE__RATE_LIMIT` | number |  | no limit |  | Rate. Example: `50`. |  |',
    );
    expect(row('MCP_CORP_STORE__NAMES')).toContain('| list |  | `a,b` |');
    expect(row('MCP_CORP_STORE__KIND')).toContain('| `red` | `red` · `blue` |');
    expect(row('MCP_CORP_HTTP__STATE_SECRET')).toContain('≥ 32 bytes');
  });

  it('shows the bounds that the loader enforces, inherited ones too', () => {
    class Annex extends StoreSettings {
      static override readonly section = 'ANNEX';
    }
    const text = configurationMarkdown([Annex]);
    expect(text).toContain('| `MCP_CORP_ANNEX__MAX_POOL_SIZE` | integer | connections | `10` | ≥ 1, ≤ 100 |');
  });

  it('has a heading per section, and every row as many cells as the table', () => {
    const text = configurationMarkdown(SECTIONS);
    expect(text.match(/^## .*$/gm)).toEqual(
      ['Service', 'Audit', 'HTTP edge', 'Diagnostics', 'Governance', 'Store'].map((title) => `## ${title}`),
    );
    for (const line of text.split('\n').filter((candidate) => candidate.startsWith('|'))) {
      expect(line.split(/(?<!\\)\|/)).toHaveLength(9);
    }
  });
});

describe('.env.example', () => {
  it('names every variable once, in order, and nothing else', () => {
    const names = Object.keys(parseEnv(environmentExample(SECTIONS)));
    expect(names.sort()).toEqual(
      SECTIONS.flatMap((section) => settingsOf(section).map(({ variable }) => variable)).sort(),
    );
  });

  it('copied to .env unchanged loads, and means the defaults', () => {
    const settings = loadSettings({}, SECTIONS, { dotenv: environmentExample(SECTIONS) });
    for (const section of SECTIONS) {
      const expected =
        section === StoreSettings ? { ...new StoreSettings(), dsn: 'store://localhost/demo' } : new section();
      expect({ ...settings.get(section as typeof StoreSettings) }).toEqual({ ...expected });
    }
  });

  it('leaves missing numbers and secrets empty', () => {
    const lines = environmentExample(SECTIONS).split('\n');
    expect(lines).toContain('MCP_CORP_STORE__RATE_LIMIT=');
    expect(lines).toContain('MCP_CORP_AUDIT_HMAC_SECRET=');
    expect(lines).toContain('MCP_CORP_GRACEFUL_SHUTDOWN_TIMEOUT_SECONDS=10');
  });
});
