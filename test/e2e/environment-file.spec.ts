import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { ServerProcess } from '../support/server-process.js';

/** Defect E1: the example of the reference, copied as its README says, stopped the start. */
const EXAMPLE = new URL('../../.env.example', import.meta.url).pathname;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mcp-corp-env-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const sourcesOf = async ({ url }: ServerProcess) =>
  Object.keys(((await (await fetch(`${url}/diagnostics`)).json()) as { connectors: object }).connectors);

it('.env.example, copied to .env unchanged, starts the server with the sources that it enables', async () => {
  copyFileSync(EXAMPLE, join(folder, '.env'));
  const enabled = [...readFileSync(EXAMPLE, 'utf8').matchAll(/^MCP_CORP_(\w+)__ENABLED=true$/gm)];
  const server = await ServerProcess.ready({}, { cwd: folder });

  expect(server.events('configuration_error')).toEqual([]);
  expect(await sourcesOf(server)).toEqual(enabled.map(([, section = '']) => section.toLowerCase()));
  expect(await server.stop()).toBe(0);
  expect(server.stderr).toBe('');
});

it('the .env file is what it is read from: a mistake in it stops the start', async () => {
  writeFileSync(join(folder, '.env'), `${readFileSync(EXAMPLE, 'utf8')}\nMCP_CORP_SERVICE_NAM=mcp\n`);
  const server = await ServerProcess.spawn({}, { cwd: folder });

  expect(await server.exited).toBe(2);
  expect(server.events('configuration_error')).toMatchObject([{ variable: 'MCP_CORP_SERVICE_NAM' }]);
});

it('its examples are valid: with the sources switched on it starts too, whether they are there or not', async () => {
  copyFileSync(EXAMPLE, join(folder, '.env'));
  const on = { MCP_CORP_POSTGRES__ENABLED: 'true', MCP_CORP_SALDO_API__ENABLED: 'true' };
  const server = await ServerProcess.ready(on, { cwd: folder });

  expect(await sourcesOf(server)).toEqual(['postgres', 'saldo_api']);
  expect(await server.stop()).toBe(0);
});
