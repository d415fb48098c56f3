import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { ProjectCopy } from '../support/project-copy.js';

const ROOT = new URL('../../', import.meta.url).pathname;

it('npx mcp-corp runs this project, with the Node of its packages, without a registry and also after the next build', async () => {
  using copy = new ProjectCopy();
  const build = () => {
    rmSync(join(copy.folder, 'dist'), { recursive: true, force: true });
    cpSync(join(ROOT, 'dist'), join(copy.folder, 'dist'), { recursive: true });
  };
  const npx = (args: string) => copy.shell(`npm_config_cache="$PWD/.npm" npm_config_offline=true npx mcp-corp ${args}`);
  cpSync(join(ROOT, 'examples'), join(copy.folder, 'examples'), { recursive: true });
  await expect(npx('version')).rejects.toThrow('npm run build');
  build();
  expect(await npx('validate examples/policy/policy.yaml')).toContain('0 errors, 0 warnings');
  expect(JSON.parse(await npx('version --json'))).toEqual({ 'mcp-corp': expect.any(String), node: process.version });
  build();
  expect(await npx('test examples/policy/policy.yaml examples/policy/expectations.yaml')).toContain('0 failed');
  // npx itself takes seconds for each, and many on a busy machine.
}, 240_000);
