// @ts-check
/**
 * Every fault against the built server (`npm run chaos -- --source postgres | saldo_api`; without it, one after the other;
 * `--only TEXT`: the faults whose name holds that).
 * Prints one table; ends with 1 when the law was broken anywhere, 2 when it could not be judged. Loopback only.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { source: { type: 'string' }, only: { type: 'string' } } });
const { only } = values;
const SOURCES = ['postgres', 'saldo_api'];
/** A source's cases take two to four minutes. */
const LIMIT_MS = 15 * 60_000;
const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** @typedef {import('../test/chaos/law.js').Row} Row */

/** @param {string} source @returns {Promise<{ rows: Row[], code: number | null }>} */
async function run(source) {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-corp-chaos-rows-'));
  const file = join(folder, 'rows');
  const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  const jest = [
    join(ROOT, 'node_modules/jest/bin/jest.js'),
    '--runInBand',
    '--testTimeout=90000',
    '--verbose',
    '--reporters=default',
  ];
  // A server of its own, which it stops and starts: the tests' common one is not needed.
  const own = ['--testMatch=**/test/chaos/*.suite.ts', '--globalSetup=', '--globalTeardown='];
  const chosen = only === undefined ? [] : [`--testNamePattern=${only}`];
  const child = spawn(process.execPath, [...flags, ...jest, ...own, ...chosen], {
    cwd: ROOT,
    env: { ...process.env, CHAOS_SOURCE: source, CHAOS_ROWS: file },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
  /** @type {number | null} */
  const code = await new Promise((resolve) => child.once('exit', resolve));
  clearTimeout(timer);
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  rmSync(folder, { recursive: true });
  /** @param {string} line @returns {Row} */
  const rowIn = (line) => {
    const value = /** @type {unknown} */ (JSON.parse(line));
    return /** @type {Row} */ (value);
  };
  return { code, rows: lines.filter((line) => line !== '').map(rowIn) };
}

/** @param {readonly Row[]} rows */
function tableOf(rows) {
  const head = ['source', 'fault', 'phase', 'calls ended as', 'slowest', 'other source', 'recovered', 'slots', ''];
  const lines = rows.map((row) => [
    row.source,
    row.name,
    row.phase,
    Object.entries(row.codes)
      .map(([code, count]) => `${count} ${code}`)
      .join(', '),
    `${Math.round(row.slowestMs)} ms`,
    `${row.witness.calls - row.witness.failures.length}/${row.witness.calls}, p95 ${Math.round(row.witness.p95)} ms (/health ${Math.round(row.witness.machineP95)})`,
    `${(row.recoveredMs / 1000).toFixed(2)} s`,
    `${Math.round(row.slotsBackMs)} ms`,
    row.misses.length === 0 ? 'kept' : `BROKEN: ${row.misses.join('; ')}`,
  ]);
  const widths = head.map((title, column) =>
    Math.max(...[head, ...lines].map((line) => (line[column] ?? title).length)),
  );
  return [head, ...lines]
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

const sources = values.source === undefined ? SOURCES : [values.source];
const unknown = sources.find((source) => !SOURCES.includes(source));
if (unknown !== undefined) {
  console.error(`--source is one of: ${SOURCES.join(', ')}`);
  process.exit(2);
}
/** @type {Row[]} */
const rows = [];
let failed = false;
for (const source of sources) {
  const result = await run(source);
  rows.push(...result.rows);
  failed ||= result.code !== 0;
}
const broken = rows.filter(({ misses }) => misses.length > 0).length;
console.log(`\n${tableOf(rows)}\n\n${rows.length - broken} faults kept the law, ${broken} broke it`);
process.exit(failed ? (broken > 0 ? 1 : 2) : 0);
