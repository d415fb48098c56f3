import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';

const MAIN = new URL('../../dist/cli/main.js', import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), 'mcp-corp-cli-'));
afterAll(() => rmSync(folder, { recursive: true }));

function mcpCorp(args: readonly string[], input = '') {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], { input, encoding: 'utf8' });
  return { status, stdout, stderr };
}

const line = (message: string, id: string) =>
  `${JSON.stringify({ message, correlation_id: id, tool: 'consultar_saldo', replica: 'r1', timestamp: 'T' })}\n`;
const START = line('tool_invocation_started', 'a');
const END = line('tool_invocation_completed', 'a');

describe('mcp-corp audit reconcile', () => {
  it('ends with 0 when every call has its start and its end, also over several files in any order', () => {
    const files = [END, START].map((text, index) => {
      const file = join(folder, `${index}.log`);
      writeFileSync(file, text);
      return file;
    });
    expect(mcpCorp(['audit', 'reconcile', ...files])).toEqual({
      status: 0,
      stdout: '1 complete, 0 starts without an end, 0 ends without a start\n',
      stderr: '',
    });
  });

  it('reads standard input, names what is missing and ends with 1', () => {
    const { status, stdout } = mcpCorp(['audit', 'reconcile'], START);
    expect(status).toBe(1);
    expect(stdout).toBe(
      'start without end  a  consultar_saldo  r1  T\n0 complete, 1 starts without an end, 0 ends without a start\n',
    );
  });

  it('says the same as one JSON object', () => {
    const { status, stdout } = mcpCorp(['audit', 'reconcile', '--json', '-'], END);
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toEqual({
      complete: 0,
      starts_without_end: [],
      ends_without_start: [{ correlation_id: 'a', tool: 'consultar_saldo', replica: 'r1', timestamp: 'T' }],
      interruptions: 0,
      unreadable_lines: 0,
    });
  });

  it('ends with 2 when a file cannot be read or the command line is wrong, and shows no path', () => {
    const missing = join(folder, 'no-existe.log');
    const { status, stderr } = mcpCorp(['audit', 'reconcile', missing]);
    expect([status, stderr]).toEqual([2, 'mcp-corp audit reconcile: file 1 cannot be read (ENOENT)\n']);
    expect(mcpCorp(['audit', 'reconcile', '--jsn']).status).toBe(2);
    expect(mcpCorp(['audit', 'reconcil']).status).toBe(2);
  });

  it('reads a long trail in bounded memory', () => {
    const file = join(folder, 'long.log');
    const calls = Array.from(
      { length: 250_000 },
      (_, id) => START.replace('"a"', `"${id}"`) + END.replace('"a"', `"${id}"`),
    );
    writeFileSync(file, calls.join(''));
    const run = spawnSync(process.execPath, ['--max-old-space-size=40', MAIN, 'audit', 'reconcile', file], {
      encoding: 'utf8',
    });
    expect([run.status, run.stdout]).toEqual([0, '250000 complete, 0 starts without an end, 0 ends without a start\n']);
  });
});

it('mcp-corp version prints the version of the package', () => {
  expect(mcpCorp(['version']).stdout).toMatch(/^mcp-corp \d+\.\d+\.\d+\n$/);
});
