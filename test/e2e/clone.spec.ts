import { existsSync, globSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { apply, blocksOf } from '../support/document.js';
import { ERAS, connectV2 } from '../support/mcp-clients.js';
import { ProjectCopy } from '../support/project-copy.js';
import { ServerProcess } from '../support/server-process.js';

/** docs/clone.md, followed word by word in a copy of the project. */
let project: ProjectCopy;
beforeAll(async () => {
  project = new ProjectCopy();
  const deletion = blocksOf('clone.md', '1. ');
  for (const { language, text } of deletion) if (language === 'sh') await project.shell(text);
  apply(deletion, project.folder);
  await project.build();
}, 180_000);
afterAll(() => project[Symbol.dispose]());

const start = (env: Record<string, string> = {}) => ServerProcess.spawn(env, { command: [project.main] });

describe('without the sample business and its sources', () => {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await start();
    await server.untilReady();
  });
  afterAll(() => server.stop());

  it('the rest starts, answers its probes and shows no source', async () => {
    const bodies = ['health', 'ready', 'diagnostics'].map(async (route) =>
      (await fetch(`${server.url}/${route}`)).json(),
    );
    expect(await Promise.all(bodies)).toEqual([
      { status: 'ok', service: 'mcp-corp' },
      { status: 'ready', service: 'mcp-corp' },
      { connectors: {} },
    ]);
  });

  it.each(ERAS)('%s finds an empty catalogue', async (_era, connect) => {
    const client = await connect(`${server.url}/mcp`);
    const lists = [
      (await client.listTools()).tools,
      (await client.listResources()).resources,
      (await client.listPrompts()).prompts,
    ];
    await expect(client.callTool({ name: 'consultar_cliente', arguments: {} })).rejects.toMatchObject({ code: -32602 });
    await client.close();
    expect(lists).toEqual([[], [], []]);
  });

  it('stops in order', async () => {
    const other = await start();
    await other.untilReady();
    expect(await other.stop()).toBe(0);
    expect(other.stderr).toBe('');
  });
});

it('the variables of the sample are gone, from the loader and from the reference', async () => {
  const server = await start({ MCP_CORP_SALDO_API__ENABLED: 'true', MCP_CORP_IDENTIFIERS__INCLUIR_PREFIJO_C: 'true' });
  expect(await server.exited).toBe(2);
  expect(server.events('configuration_error').map(({ variable }) => variable)).toEqual([
    'MCP_CORP_SALDO_API__ENABLED',
    'MCP_CORP_IDENTIFIERS__INCLUIR_PREFIJO_C',
  ]);

  await project.node('scripts/configuration-reference.mjs');
  expect(project.read('docs/configuration.md')).not.toMatch(/SALDO_API|POSTGRES|IDENTIFIERS/);
});

it('no test that is left imports what was deleted', () => {
  const files = globSync('test/**/*.ts', { cwd: project.folder });
  const missing = files.flatMap((file) => {
    const imports = project.read(file).matchAll(/^(?:import|export|\}) ?(?:[^'\n]*from )?'(\.[^']+)';$/gm);
    return [...imports]
      .map(([, path = '']) => join(project.folder, dirname(file), path))
      .filter((path) => !existsSync(path) && !existsSync(path.replace(/\.js$/, '.ts')))
      .filter((path) => !path.startsWith(join(project.folder, 'dist')))
      .map((path) => `${file}: ${path.slice(project.folder.length)}`);
  });
  expect(files.length).toBeGreaterThan(20);
  expect(missing).toEqual([]);
});

describe('with the first business of its own', () => {
  let server: ServerProcess;
  beforeAll(async () => {
    apply(blocksOf('clone.md', '2. '), project.folder);
    await project.build();
    server = await start();
    await server.untilReady();
  }, 180_000);
  afterAll(() => server.stop());

  it('serves its tool, and audits it', async () => {
    const client = await connectV2(`${server.url}/mcp`);
    const { tools } = await client.listTools();
    const found = await client.callTool({ name: 'consultar_horario', arguments: { oficina: 'Centro' } });
    const absent = await client.callTool({ name: 'consultar_horario', arguments: { oficina: 'sur' } });
    await client.close();

    expect(tools.map(({ name }) => name)).toEqual(['consultar_horario']);
    expect(found.structuredContent).toEqual({ oficina: 'Centro', abre: '08:00', cierra: '16:00' });
    expect(absent).toMatchObject({ isError: true, content: [{ text: 'No existe una oficina con ese nombre.' }] });
    const records = () => server.events('tool_invocation_completed');
    await server.until(() => records().length === 2);
    expect(records()).toMatchObject([
      { tool: 'consultar_horario', result: 'success', identifier: null, sources: [] },
      { tool: 'consultar_horario', result: 'failure', reason: 'not_found' },
    ]);
  });

  it('keeps to the import map', async () => {
    const cruise = [
      'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs',
      'src',
      '--config',
      '.dependency-cruiser.cjs',
    ];
    await expect(project.node(...cruise)).resolves.toContain('no dependency violations');
  });
});
