// @ts-check
/** What the run found, as one table. */

/**
 * @typedef {object} Finding
 * @property {string} figure What was measured.
 * @property {string} limit What it must be.
 * @property {boolean} pass
 *
 * @typedef {Finding & { name: string }} Row
 *
 * @typedef {object} Stage What a result is shown on.
 * @property {import('./children.mjs').Children} children
 * @property {import('./slow-database.mjs').SlowDatabase} database
 * @property {boolean} short
 * @property {boolean} ci Inside CI the machine does other things too.
 * @property {'haproxy' | 'own'} balancer
 */

/** @param {readonly Row[]} rows */
export function table(rows) {
  const cells = [
    ['result', 'figure', 'limit', ''],
    ...rows.map(({ name, figure, limit, pass }) => [name, figure, limit, pass ? 'pass' : 'FAIL']),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...cells.map((row) => (row[column] ?? '').length)));
  const lines = cells.map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`);
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`;
  return `${[lines[0], rule, ...lines.slice(1)].join('\n')}\n`;
}
