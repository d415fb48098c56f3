import { describe, expect, it } from '@jest/globals';
import { Command } from 'commander';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { filesIn } from '../../../deploy/verify/assets.mjs';
import { documentsIn } from '../../../deploy/verify/manifests/documents.mjs';
import { blocksOf } from '../../../deploy/verify/runbook.mjs';
import { capacity } from '../../../src/cli/capacity.js';
import { placeholdersOf } from '../../support/stack-file.js';

const RUNBOOK = 'deploy/README.md';
const CLUSTERS = 'deploy/openshift/README.md';
const text = readFileSync(RUNBOOK, 'utf8');
const blocks = blocksOf(RUNBOOK);
const scripts = (JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }).scripts;
const checks = ['swarm', 'image'].map((name) => readFileSync(`deploy/verify/${name}.mjs`, 'utf8')).join('\n');

const linesOf = (info: string) =>
  [RUNBOOK, CLUSTERS]
    .flatMap(blocksOf)
    .filter((block) => block.info === info)
    .flatMap((block) => block.text.split('\n').filter((line) => line.trim() !== ''));

describe('the commands of the runbook', () => {
  it('are either run by a check of deploy/verify, as they stand, or marked as not run', () => {
    expect(blocks.length).toBeGreaterThan(12);
    for (const { info } of [...blocks, ...blocksOf(CLUSTERS)]) {
      if (info === 'not-run' || info === 'run=names') continue;
      const [, id = ''] = /^run=([a-z-]+)$/.exec(info) ?? [];
      expect(id).not.toBe('');
      expect(checks).toContain(`'${id}'`);
    }
  });

  it('read the names that the stack asks for, which the first block sets', () => {
    const names = blocks.find(({ info }) => info === 'run=names')?.text ?? '';
    for (const name of placeholdersOf('deploy/swarm/mcp-corp-stack.yml')) expect(names).toContain(`export ${name}=`);
  });

  it('that are not run are those that need a second machine or a cluster', () => {
    const lines = linesOf('not-run');
    expect(lines.length).toBeGreaterThan(8);
    expect(lines.filter((line) => !/^(?:scp|ssh|oc|kubectl) /.test(line))).toEqual([]);
  });

  it('for clusters name overlays, objects, keys and flags that exist', () => {
    const secrets = ['base', 'components/policy'].flatMap(
      (folder) =>
        documentsIn(`deploy/openshift/${folder}/secret.example.yaml`) as unknown as {
          metadata: { name: string };
          stringData: Record<string, string>;
        }[],
    );
    const lines = linesOf('not-run').filter((line) => /^(?:oc|kubectl) /.test(line));
    for (const line of lines) {
      const flags = [...line.matchAll(/ (--?[a-z][a-z-]*)/g)].map(([, flag]) => flag);
      expect(flags.filter((flag) => !['-k', '--from-file', '--namespace'].includes(flag ?? ''))).toEqual([]);
      const overlay = / -k (\S+)/.exec(line)?.[1];
      if (overlay !== undefined) expect(existsSync(path.join(overlay, 'kustomization.yaml'))).toBe(true);
      if (line.includes('create secret')) {
        const secret = secrets.find(({ metadata }) => line.includes(` ${metadata.name} `));
        const keys = [...line.matchAll(/--from-file=(\S+)/g)].map(([, key]) => key);
        expect(keys.sort()).toEqual(Object.keys(secret?.stringData ?? {}).sort());
      }
      if (line.includes('rollout')) expect(line).toMatch(/rollout (?:status|restart|undo) deployment\/mcp-corp$/);
    }
    const carried = linesOf('run=save').join('\n');
    for (const line of linesOf('not-run').filter((each) => /^(?:scp|ssh) /.test(each))) {
      expect(carried).toContain(/mcp-corp-image\.tar\.gz/.exec(line)?.[0] ?? 'no archive');
    }
  });

  it('of npm are scripts of package.json', () => {
    const named = [RUNBOOK, CLUSTERS].flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/npm run (?:-s )?([a-z][\w:-]*)/g)].map(([, name]) => name ?? ''),
    );
    expect(named.length).toBeGreaterThan(2);
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });

  it('of the CLI are understood by it', () => {
    const lines = [...text.matchAll(/dist\/cli\/main\.js (capacity [^\n`]+)/g)].map(([, args]) => args ?? '');
    expect(lines).toHaveLength(2);
    for (const line of lines) {
      let code: number | undefined;
      const program = new Command().exitOverride();
      capacity(program, { out: () => undefined, err: () => undefined }, (each) => (code = each));
      program.parse(line.split(' '), { from: 'user' });
      expect(code).toBe(0);
    }
  });
});

describe('what the runbook says', () => {
  it.each([RUNBOOK, CLUSTERS])('in %s leads to files and sections that exist', (file) => {
    const whole = readFileSync(file, 'utf8');
    const anchors = new Set(
      [...whole.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
        title
          .toLowerCase()
          .replaceAll(/[^\w -]/g, '')
          .replaceAll(' ', '-'),
      ),
    );
    for (const [, target = ''] of whole.matchAll(/\]\(([^)]+)\)/g)) {
      if (target.startsWith('#')) expect(anchors).toContain(target.slice(1));
      else expect(existsSync(path.join(path.dirname(file), target))).toBe(true);
    }
    for (const [place] of whole.matchAll(/\bdeploy\/[\w./-]*\w/g)) expect(existsSync(place)).toBe(true);
  });

  it('of events, codes and fields is what the code writes', () => {
    const sources = [...filesIn('src'), ...filesIn('deploy/swarm')]
      .map((file) => readFileSync(file, 'utf8'))
      .join('\n');
    const words = new Set([...text.matchAll(/`([a-z]+(?:_[a-z]+)+)`/g)].map(([, word]) => word ?? ''));
    // Words of the database and of Docker.
    for (const foreign of ['max_connections', 'rollback_completed']) words.delete(foreign);
    expect(words.size).toBeGreaterThan(15);
    expect([...words].filter((word) => !sources.includes(word))).toEqual([]);
  });

  it('has, for each step on the swarm, how it is done in Portainer', () => {
    const sections = text.split(/^## /m).slice(1);
    for (const number of [1, 2, 3, 4, 5, 6, 8]) {
      expect(sections.find((section) => section.startsWith(`${number}.`))).toContain('_Portainer_');
    }
  });

  it('has a section for each alert', () => {
    for (const alert of [
      'circuit-open',
      'refusals',
      'source-saturated',
      'slow-calls',
      'audit-failing',
      'connection-budget-exceeded',
    ]) {
      expect(text).toContain(`\n### alert-${alert}\n`);
    }
  });

  it('ships in its first step what the stack ships', () => {
    expect(text).toContain("The stack ships `MCP_CORP_POSTGRES__ENABLED: 'true'` and the balance API off.");
    const stack = readFileSync('deploy/swarm/mcp-corp-stack.yml', 'utf8');
    expect(stack).toContain("MCP_CORP_POSTGRES__ENABLED: 'true'");
    expect(stack).toContain("MCP_CORP_SALDO_API__ENABLED: '${SALDO_API_ENABLED:-false}'");
  });
});
