import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { Metrics } from '../../../src/observability/metrics/metrics.js';
import {
  dashboard,
  documentation,
  metricsIn,
  namedMetrics,
  ruleFile,
  RULES_PATH,
} from '../../support/observability-assets.js';
import { readStack, type StackService } from '../../support/stack-file.js';
import { NO_PROMTOOL, promtool } from '../../support/promtool.js';

const SCRAPE_PATH = 'deploy/observability/prometheus-scrape.yml';
const RULES_TEST_PATH = 'deploy/observability/prometheus-rules.test.yml';
const ROOT = new URL('../../../', import.meta.url);
const rules = ruleFile().groups.flatMap((group) => group.rules);
const described = await new Metrics('0').described();
const known = new Set(
  described.flatMap(({ name, type }) =>
    type === 'histogram' ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
  ),
);

/** Brackets and quotes of an expression are closed in the order in which they were opened. */
function isBalanced(expr: string): boolean {
  const open: string[] = [];
  const pairs: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' };
  for (const sign of expr.replaceAll(/"(?:[^"\\]|\\.)*"/g, '')) {
    if ('([{'.includes(sign)) open.push(sign);
    else if (sign in pairs && open.pop() !== pairs[sign]) return false;
  }
  return open.length === 0 && !expr.replaceAll(/"(?:[^"\\]|\\.)*"/g, '').includes('"');
}

describe('the alert rules', () => {
  it('have the form that Prometheus takes', () => {
    expect(rules.length).toBeGreaterThanOrEqual(6);
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    for (const rule of rules) {
      expect(Object.keys(rule).sort()).toEqual(['alert', 'annotations', 'expr', 'for', 'labels']);
      expect(rule.alert).toMatch(/^McpCorp[A-Za-z]+$/);
      expect(rule.for).toMatch(/^\d+[smh]$/);
      expect(['warning', 'critical']).toContain(rule.labels['severity']);
      expect(Object.keys(rule.annotations).sort()).toEqual(['description', 'runbook_url', 'summary']);
      expect(isBalanced(rule.expr)).toBe(true);
    }
  });

  it('lead to a heading of the runbook that is named like the rule', () => {
    const runbook = new URL('deploy/README.md', ROOT);
    const text = existsSync(runbook) ? readFileSync(runbook, 'utf8') : undefined;
    for (const { alert, annotations } of rules) {
      const anchor = alert
        .replace('McpCorp', 'alert')
        .replaceAll(/(?<=[a-z])(?=[A-Z])/g, '-')
        .toLowerCase();
      expect(annotations['runbook_url']).toBe(`deploy/README.md#${anchor}`);
      if (text === undefined) continue;
      // As forges make anchors out of headings.
      const anchors = [...text.matchAll(/^#+ +(.+)$/gm)].map(([, heading = '']) =>
        heading
          .toLowerCase()
          .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
          .replaceAll(' ', '-'),
      );
      expect(anchors).toContain(anchor);
    }
  });

  it('speak of what must wake somebody: circuit, refusals, saturation, slowness, audit, budget', () => {
    expect(rules.map(({ alert }) => alert)).toEqual(
      expect.arrayContaining([
        ...['McpCorpCircuitOpen', 'McpCorpRefusals', 'McpCorpSourceSaturated', 'McpCorpSlowCalls'],
        ...['McpCorpAuditFailing', 'McpCorpConnectionBudgetExceeded'],
      ]),
    );
  });
});

const checked = NO_PROMTOOL === undefined ? describe : describe.skip;
checked(`Prometheus itself${NO_PROMTOOL === undefined ? '' : ` (skipped: ${NO_PROMTOOL})`}`, () => {
  it.each([
    ['takes the rules', ['check', 'rules', RULES_PATH]],
    ['takes the scrape configuration', ['check', 'config', '--syntax-only', SCRAPE_PATH]],
    ['finds that each rule fires on its bad day and none on a good one', ['test', 'rules', RULES_TEST_PATH]],
  ])('%s', (_, args) => {
    const { code, said } = promtool(args);
    expect([code, said]).toEqual([0, expect.stringContaining('SUCCESS')]);
  });

  it('is shown a bad day of every rule', () => {
    const text = readFileSync(RULES_TEST_PATH, 'utf8');
    expect(rules.map(({ alert }) => alert).filter((alert) => !text.includes(`alertname="${alert}"`))).toEqual([]);
  });
});

describe('the scrape configuration', () => {
  const { rule_files, scrape_configs } = parse(readFileSync(SCRAPE_PATH, 'utf8')) as {
    rule_files: string[];
    scrape_configs: { job_name: string; dns_sd_configs: { names: string[]; port: number }[] }[];
  };
  const [job] = scrape_configs;

  it('reads the rules, and names its job so that they apply', () => {
    expect(rule_files.map((file) => `deploy/observability/${file}`)).toEqual([RULES_PATH]);
    expect(job?.job_name).toMatch(/mcp-corp/);
  });

  it('asks the port of the stack, of each task by its own address', () => {
    const { environment, deploy } = readStack('deploy/swarm/mcp-corp-stack.yml', {
      IMAGE: 'mcp-corp:2.0.0',
      PUBLIC_HOST: 'mcp-corp.example.com',
    }).services['mcp-corp'] as StackService;
    const [found] = job?.dns_sd_configs ?? [];
    expect(String(found?.port)).toBe(environment?.['MCP_CORP_METRICS__PORT']);
    expect(found?.names).toEqual(['tasks.mcp-corp_mcp-corp']);
    expect(deploy?.endpoint_mode).toBe('dnsrr');
  });
});

describe('the dashboard', () => {
  const { panels, templating } = dashboard();

  it('has panels that do not overlap, each with a question in balance', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const taken = new Set<string>();
    for (const { title, type, gridPos, datasource, targets = [] } of panels) {
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect(x).toBeLessThan(24);
          expect(taken).not.toContain(`${x},${y}`);
          taken.add(`${x},${y}`);
        }
      if (type === 'row') continue;
      expect(datasource).toEqual({ type: 'prometheus', uid: '${datasource}' });
      expect(targets.length).toBeGreaterThan(0);
      for (const { expr, legendFormat } of targets) {
        expect([title, isBalanced(expr), metricsIn(expr).length > 0]).toEqual([title, true, true]);
        expect(legendFormat).not.toBe('');
        for (const [, variable = ''] of expr.matchAll(/\$(\w+)/g)) {
          expect(['__rate_interval', ...templating.list.map(({ name }) => name)]).toContain(variable);
        }
      }
    }
  });
});

describe('what rules and panels name', () => {
  it('exists under exactly that name', () => {
    expect(namedMetrics().filter((name) => !known.has(name))).toEqual([]);
    expect(namedMetrics().length).toBeGreaterThan(25);
  });

  it('is everything that the product itself counts: nothing is exposed that nobody looks at', () => {
    const looked = new Set(namedMetrics().map((name) => name.replace(/_(?:bucket|count|sum)$/, '')));
    const own = described.map(({ name }) => name).filter((name) => name.startsWith('mcp_corp_'));
    expect(own.filter((name) => !looked.has(name))).toEqual(['mcp_corp_source_pool_connect_seconds_total']);
  });
});

describe('docs/observability.md', () => {
  it('has each metric of the product with its kind and its meaning, and no other', () => {
    const rows = [...documentation().matchAll(/^\| `(mcp_corp_[a-z_]+)` +\| (\w+) +\| [^|]*\| ([^|]+?) +\|$/gm)];
    const written = rows.map(([, name, type, help]) => ({ name, type, help }));
    const own = described.filter(({ name }) => name.startsWith('mcp_corp_'));
    expect(written).toEqual(own.map(({ name, type, help }) => ({ name, type, help })));
  });
});
