import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { OLDEST_NODE } from '../../src/node-version.js';

const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as { engines: { node: string } };

/** A process that takes itself for another version. */
function started(program: string, version: string) {
  const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`;
  const args = ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`, program, 'version'];
  return spawnSync(process.execPath, args, { encoding: 'utf8', env: { MCP_CORP_PORT: 'none' } });
}

describe('a Node that is too old', () => {
  it.each(['dist/main.js', 'dist/cli/main.js'])(
    'ends %s at once with 3 and one line that says what to do',
    (program) => {
      for (const version of ['20.20.2', '22.14.9']) {
        const { status, stdout, stderr } = started(program, version);
        expect([status, stdout]).toEqual([3, '']);
        expect(stderr).toMatch(
          new RegExp(
            `^mcp-corp needs Node ${OLDEST_NODE.join('\\.')} or later, and this is ${version}\\. .*npm start.*\n$`,
          ),
        );
      }
    },
  );

  it.each(['22.15.0', '24.0.1', '26.1.0'])('is not %s', (version) => {
    expect(started('dist/cli/main.js', version)).toMatchObject({ status: 0, stderr: '' });
  });

  it('is what package.json says', () => {
    expect(engines.node).toBe(`>=${OLDEST_NODE.join('.')}`);
  });
});
