import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startReplicas, type Replica } from './replicas.js';
import { startRoundRobin, type Balancer } from '../support/round-robin.js';

const HERE = new URL('.', import.meta.url).pathname;
const SUITE = `${HERE}node_modules/@modelcontextprotocol/conformance/dist/index.js`;

const written: string[] = [];
let replicas: Replica[];
let balancer: Balancer;
beforeAll(async () => {
  replicas = await startReplicas(2, written);
  balancer = await startRoundRobin(replicas.map(({ port }) => port));
});
afterAll(async () => {
  await balancer.close();
  for (const replica of replicas) await replica.close();
});

interface Run {
  /** Exit code of the suite: 0 when nothing but what is expected has failed. */
  readonly code: unknown;
  readonly output: string;
}

async function suite(...options: string[]): Promise<Run> {
  const child = spawn(process.execPath, [SUITE, ...options], { cwd: HERE, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const keep = (text: string) => void (output += text);
  child.stdout.setEncoding('utf8').on('data', keep);
  child.stderr.setEncoding('utf8').on('data', keep);
  const [code] = (await once(child, 'close')) as [unknown];
  return { code, output };
}

/** Names of the scenarios for servers that a revision requires; the suite runs others too, and scores them not. */
async function required(revision: string): Promise<string[]> {
  const { output } = await suite('list', '--server', '--requirements', revision);
  const [, servers = ''] = /Server scenarios[^\n]*\n((?: {2}- .*\n)+)/.exec(output) ?? [];
  return [...servers.matchAll(/- (\S+)/g)].map(([, name]) => name ?? '');
}

/** The scenarios that a revision requires, passed and failed, as the suite's own summary marks them. */
async function score(revision: string, ...options: string[]) {
  const names = new Set(await required(revision));
  const { code, output } = await suite('server', '--url', balancer.url, '--requirements', revision, ...options);
  const [, summary = ''] = output.split('=== SUMMARY ===');
  process.stdout.write(`\n${revision}${summary}`);
  const marks = [...summary.matchAll(/^(✓|✗) (\S+): \d+ passed/gm)].filter(([, , name]) => names.has(name ?? ''));
  const marked = (mark: string) => marks.filter(([, its]) => its === mark).map(([, , name]) => name);
  return { code, passed: marked('✓').length, failed: marked('✗'), required: names.size };
}

describe('the official conformance suite, against two replicas in strict turn', () => {
  it('passes every scenario that 2026-07-28 requires', async () => {
    expect(await score('2026-07-28')).toEqual({ code: 0, passed: 37, failed: [], required: 37 });
  });

  it('passes every scenario that 2025-11-25 requires, but for the four that need requests to the client', async () => {
    expect(await score('2025-11-25', '--expected-failures', 'expected-failures-2025-11-25.yml')).toEqual({
      code: 0,
      passed: 26,
      failed: [
        'tools-call-sampling',
        'tools-call-elicitation',
        'elicitation-sep1034-defaults',
        'elicitation-sep1330-enums',
      ],
      required: 30,
    });
  });

  it('was served by both replicas in turn, and no fault of theirs was logged', () => {
    const [first = 0, second = 0] = balancer.given;
    expect(first).toBeGreaterThan(50);
    expect(Math.abs(first - second)).toBeLessThanOrEqual(1);
    expect(written.filter((line) => /unexpected_error|"ERROR"/.test(line))).toEqual([]);
  });
});
