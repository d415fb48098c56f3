import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { connectV1, connectV2, type CallResult } from '../support/mcp-clients.js';
import { freePort } from '../../scripts/free-port.mjs';
import { ServerProcess, type LogLine } from '../support/server-process.js';
import { until } from '../support/until.js';

/** `npm run demo` builds and then runs exactly this; what a new user meets first (issue 2, point 1). */
const DEMO = new URL('../../scripts/demo.mjs', import.meta.url).pathname;

const BANNER = /\n {2}mcp-corp is ready\.\n[^]*?\n {2}Ctrl-C stops everything and leaves nothing behind\.\n\n/;

interface Demo {
  readonly process: ServerProcess;
  /** Its TMPDIR: what it leaves behind is in here. */
  readonly folder: string;
}

async function startDemo(folder: string, ...flags: string[]): Promise<Demo> {
  const port = await freePort();
  const command = [DEMO, '--port', String(port), ...flags];
  return { process: await ServerProcess.spawn({ TMPDIR: folder }, { port, command }), folder };
}

/** A temporary folder that the demo's PostgreSQL can enter, which runs as `nobody` when the tests run as root. */
function openFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-corp-demo-'));
  chmodSync(folder, 0o755);
  return folder;
}

const banner = ({ process }: Demo) => BANNER.exec(process.stdout)?.[0] ?? '';
const bannerOut = ({ process }: Demo) => process.until(({ stdout }) => BANNER.test(stdout), 30_000);

/** Everything but the banner; throws at the first line that is not JSON. */
const jsonLines = ({ process }: Demo) =>
  process.stdout
    .replace(BANNER, '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as LogLine);

/** Process group of the demo's PostgreSQL, which leads its own. */
function postgresGroup(folder: string): number {
  const [home] = readdirSync(folder);
  return Number.parseInt(readFileSync(join(folder, home ?? '', 'data/postmaster.pid'), 'utf8'), 10);
}

function isAlive(group: number): boolean {
  try {
    process.kill(-group, 0);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer().listen(port, '127.0.0.1');
  const bound = await once(probe, 'listening').then(
    () => true,
    () => false,
  );
  probe.close();
  return bound;
}

const COMBINATIONS: { flags: string[]; sources: string[]; errors: (string | undefined)[] }[] = [
  { flags: [], sources: ['postgres', 'saldo_api'], errors: [undefined, undefined, 'unavailable'] },
  { flags: ['--no-saldo'], sources: ['postgres'], errors: [undefined, 'not_found', 'invalid_check_digit'] },
  { flags: ['--no-postgres'], sources: ['saldo_api'], errors: [undefined, 'not_found', 'unavailable'] },
];

describe.each(COMBINATIONS)('the demo with the flags $flags', ({ flags, sources, errors }) => {
  let demo: Demo;
  let tries: { name: string; arguments: Record<string, unknown> }[];
  beforeAll(async () => {
    demo = await startDemo(openFolder(), ...flags);
    await bannerOut(demo);
    tries = [...banner(demo).matchAll(/^ {4}\d\. (\w+) +(\{.*?\})/gm)].map(([, name = '', json = '']) => ({
      name,
      arguments: JSON.parse(json) as Record<string, unknown>,
    }));
  }, 40_000);
  afterAll(async () => {
    await demo.process.stop();
    rmSync(demo.folder, { recursive: true, force: true });
  });

  it('names an endpoint, and a client configuration that can be pasted and points to it', async () => {
    const text = banner(demo);
    const endpoint = /Endpoint +(\S+)/.exec(text)?.[1];
    const configuration = /^ {4}\{[^]*?^ {4}\}/m.exec(text)?.[0] ?? '';

    expect(endpoint).toBe(`${demo.process.url}/mcp`);
    expect(JSON.parse(configuration)).toEqual({ mcpServers: { 'mcp-corp': { type: 'http', url: endpoint } } });
    expect((await fetch(`${demo.process.url}/ready`)).status).toBe(200);
  });

  it('says where the diagnostics are, and they show the sources', async () => {
    const url = /Diagnostics +(\S+)/.exec(banner(demo))?.[1] ?? '';
    const { connectors } = (await (await fetch(url)).json()) as { connectors: Record<string, { healthy: boolean }> };

    expect(Object.keys(connectors)).toEqual(sources);
    expect(Object.values(connectors).map(({ healthy }) => healthy)).toEqual(sources.map(() => true));
  });

  it.each([
    ['v1', connectV1],
    ['v2', connectV2],
  ] as const)(
    'offers three things to try, and they do what they promise with the %s client',
    async (_name, connect) => {
      const client = await connect(`${demo.process.url}/mcp`);
      const results: CallResult[] = [];
      for (const one of tries) results.push(await client.callTool(one));
      await client.close();

      expect(results.map(({ _meta }) => (_meta?.['mcp-corp/error'] as { code?: string } | undefined)?.code)).toEqual(
        errors,
      );
      expect(results.map(({ structuredContent }) => structuredContent === undefined)).toEqual(
        errors.map((code) => code !== undefined),
      );
    },
  );

  it('writes nothing but JSON lines beside the banner, all of them before it until somebody calls', () => {
    expect(() => jsonLines(demo)).not.toThrow();
    const before = demo.process.stdout.slice(0, demo.process.stdout.search(BANNER));
    expect(before).toContain('"message":"startup_complete"');
    expect(demo.process.stderr).toBe('');
  });
});

it('without any source it still serves, and offers the three routes that answer', async () => {
  const demo = await startDemo(openFolder(), '--no-postgres', '--no-saldo');
  await bannerOut(demo);
  const urls = [...banner(demo).matchAll(/^ {4}\d\. (http\S+)/gm)].map(([, url = '']) => url);

  expect(await Promise.all(urls.map(async (url) => (await fetch(url)).status))).toEqual([200, 200, 200]);
  expect(readdirSync(demo.folder)).toEqual([]);
  expect(await demo.process.stop()).toBe(0);
  rmSync(demo.folder, { recursive: true });
});

describe('the end of the demo', () => {
  let demo: Demo;
  let group: number;
  beforeEach(async () => {
    demo = await startDemo(openFolder());
    await bannerOut(demo);
    group = postgresGroup(demo.folder);
  }, 40_000);
  afterEach(() => rmSync(demo.folder, { recursive: true, force: true }));

  it.each(['SIGINT', 'SIGTERM'] as const)('%s ends everything: exit 0, and nothing is left', async (signal) => {
    expect(isAlive(group)).toBe(true);
    demo.process.kill(signal);

    expect(await demo.process.exited).toBe(0);
    expect(isAlive(group)).toBe(false);
    expect(readdirSync(demo.folder)).toEqual([]);
    expect(await isFree(demo.process.port)).toBe(true);
    expect(jsonLines(demo).at(-1)).toMatchObject({ message: 'shutdown_complete' });
    expect(demo.process.stderr).toBe('');
  });

  it('also after SIGKILL the database and its folder vanish', async () => {
    demo.process.kill('SIGKILL');
    await demo.process.exited;

    await until(() => !isAlive(group) && readdirSync(demo.folder).length === 0);
    expect(await isFree(demo.process.port)).toBe(true);
  });
});

describe('a demo that cannot start', () => {
  it('because its port is taken: says so in a JSON line, takes everything down again, exit 3', async () => {
    const folder = openFolder();
    const port = await freePort();
    const owner = createServer().listen(port, '127.0.0.1');
    await once(owner, 'listening');
    const demo = {
      process: await ServerProcess.spawn({ TMPDIR: folder }, { port, command: [DEMO, '--port', `${port}`] }),
      folder,
    };

    expect(await demo.process.exited).toBe(3);
    expect(jsonLines(demo).at(-1)).toMatchObject({ message: 'server_start_failed' });
    expect(demo.process.stderr).toBe('');
    expect(readdirSync(folder)).toEqual([]);
    owner.close();
    rmSync(folder, { recursive: true });
  });

  it('because there is no room for its database: says so in a JSON line, exit 3', async () => {
    const folder = join(openFolder(), 'missing');
    const demo = await startDemo(folder);

    expect(await demo.process.exited).toBe(3);
    expect(jsonLines(demo)).toMatchObject([{ level: 'ERROR', logger: 'mcp_corp.demo', message: 'demo_start_failed' }]);
    expect(demo.process.stderr).toBe('');
    expect(existsSync(folder)).toBe(false);
    rmSync(join(folder, '..'), { recursive: true });
  });

  it.each([[['--port', 'ocho']], [['--port', '70000']], [['--port', '0']], [['--puerto', '8000']], [['8000']]])(
    'because of the options %j: shows how it is used, exit 2',
    (options) => {
      const { status, stdout, stderr } = spawnSync(process.execPath, [DEMO, ...options], { encoding: 'utf8' });

      expect(status).toBe(2);
      expect(stdout).toBe('');
      expect(stderr).toMatch(/--port N[^]*--no-postgres[^]*--no-saldo/);
    },
  );
});
