import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}
interface RuleFile {
  readonly groups: readonly { readonly name: string; readonly rules: readonly AlertRule[] }[];
}
export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource?: { readonly type: string; readonly uid: string };
  readonly targets?: readonly { readonly refId: string; readonly expr: string; readonly legendFormat: string }[];
}
interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: unknown }[] };
}

export const RULES_PATH = 'deploy/observability/prometheus-rules.yml';
export const ruleFile = () => parse(read(RULES_PATH)) as RuleFile;
export const dashboard = () => JSON.parse(read('deploy/observability/grafana-dashboard.json')) as Dashboard;
export const documentation = () => read('docs/observability.md');

/** Names of metrics in an expression; those of Prometheus itself (`up`) are not ours. */
export const metricsIn = (expr: string): string[] => [
  ...new Set(expr.match(/\b(?:mcp_corp|process|nodejs)_[a-z0-9_]+\b/g) ?? []),
];

/** Every metric that a rule, a panel or a variable of the dashboard names. */
export function namedMetrics(): string[] {
  const { panels, templating } = dashboard();
  const expressions = [
    ...ruleFile().groups.flatMap(({ rules }) => rules.map(({ expr }) => expr)),
    ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
    ...templating.list.map(({ query }) => JSON.stringify(query)),
  ];
  return [...new Set(expressions.flatMap(metricsIn))].sort();
}
