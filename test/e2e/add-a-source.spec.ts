import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startSaldoStub, type SaldoStub } from '../../deploy/dev/saldo-api-stub.mjs';
import { apply, blocksOf } from '../support/document.js';
import { startHttpServer, type TestServer } from '../support/http-server.js';
import { ERAS, connectV2, type CallResult } from '../support/mcp-clients.js';
import { ProjectCopy } from '../support/project-copy.js';
import { ServerProcess, type LogLine } from '../support/server-process.js';
import { AUDIT_KEY } from '../support/world.js';

/** docs/add-a-source.md, followed word by word in a copy of the project: a third source, over HTTP. */
const ANA = { cedula: 'V16760320', puntos: 1250, nivel: 'oro' };
const UNAVAILABLE = 'El servicio de puntos no está disponible en este momento. Intenta de nuevo en unos segundos.';

let project: ProjectCopy;
let api: TestServer;
let answer: (path: string) => [status: number, body: object];

const truth: typeof answer = (path) =>
  path === '/health' ? [200, {}] : path === '/clientes/V16760320/puntos' ? [200, ANA] : [404, {}];

beforeAll(async () => {
  api = await startHttpServer((request, response) => {
    const [status, body] = answer(request.url ?? '');
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  });
  project = new ProjectCopy();
  apply(blocksOf('add-a-source.md'), project.folder);
  await project.build();
}, 180_000);
afterAll(async () => {
  project[Symbol.dispose]();
  await api.close();
});
beforeEach(() => {
  answer = truth;
});

const enabled = () => ({
  MCP_CORP_PUNTOS_API__ENABLED: 'true',
  MCP_CORP_PUNTOS_API__BASE_URL: api.url,
  MCP_CORP_PUNTOS_API__MAX_CONCURRENCY: '3',
  MCP_CORP_PUNTOS_API__CIRCUIT_FAILURE_THRESHOLD: '2',
  MCP_CORP_AUDIT_HMAC_SECRET: AUDIT_KEY,
});
const start = (env: Record<string, string>) => ServerProcess.ready(env, { command: [project.main] });
const puntos = { name: 'consultar_puntos', arguments: { identificador: 'V-16.760.320' } };
const codeOf = ({ _meta }: CallResult) => (_meta?.['mcp-corp/error'] as { code: string } | undefined)?.code;
const diagnosticsOf = async ({ url }: ServerProcess) => {
  const body = (await (await fetch(`${url}/diagnostics`)).json()) as { connectors: Record<string, LogLine> };
  return body.connectors;
};

describe('the third source', () => {
  let server: ServerProcess;
  beforeAll(async () => {
    answer = truth;
    server = await start(enabled());
  });
  afterAll(() => server.stop());

  it('has its executor, which /diagnostics shows', async () => {
    expect(await diagnosticsOf(server)).toEqual({
      puntos_api: expect.objectContaining({
        source: 'puntos_api',
        circuit_state: 'closed',
        max_concurrency: 3,
        healthy: true,
      }),
    });
  });

  it('has its tool in the registration summary', () => {
    expect(server.events('tools_registration_summary')).toMatchObject([{ registradas: ['consultar_puntos'] }]);
  });

  it.each(ERAS)('answers %s', async (_era, connect) => {
    const client = await connect(`${server.url}/mcp`);
    const { tools } = await client.listTools();
    const found = await client.callTool(puntos);
    const absent = await client.callTool({ ...puntos, arguments: { identificador: 'J-16760320-2' } });
    await client.close();

    expect(tools.map(({ name }) => name)).toEqual(['consultar_puntos']);
    expect(found.structuredContent).toEqual(ANA);
    expect(codeOf(absent)).toBe('not_found');
  });

  it('is in the audit, under the pseudonym of the canonical identifier', async () => {
    const records = () => server.events('tool_invocation_completed').filter(({ result }) => result === 'success');
    await server.until(() => records().length > 0);
    expect(records()[0]).toMatchObject({
      tool: 'consultar_puntos',
      identifier: 'hmac-sha256:d847f45a92a6',
      sources: ['puntos_api'],
    });
  });

  it("refuses somebody else's points, as a source that is not available", async () => {
    answer = (path) => (path === '/health' ? [200, {}] : [200, { ...ANA, cedula: 'V99999999' }]);
    const client = await connectV2(`${server.url}/mcp`);
    const result = await client.callTool(puntos);
    answer = truth;
    // A success in between, so that the next test counts its failures from nought.
    await client.callTool(puntos);
    await client.close();

    expect(result).toMatchObject({ isError: true, content: [{ text: UNAVAILABLE }] });
    expect(result.structuredContent).toBeUndefined();
  });

  it('opens its circuit when it fails, and is then not asked any more', async () => {
    answer = () => [500, {}];
    const client = await connectV2(`${server.url}/mcp`);
    const codes = [];
    for (let call = 0; call < 3; call += 1) codes.push(codeOf(await client.callTool(puntos)));
    await client.close();

    expect(codes).toEqual(['unavailable', 'unavailable', 'circuit_open']);
    expect(await diagnosticsOf(server)).toMatchObject({ puntos_api: { circuit_state: 'open', healthy: false } });
    await server.until(() => server.events('circuit_breaker_state_change').at(-1)?.['to_state'] === 'open');
    expect(server.events('circuit_breaker_state_change').at(-1)).toMatchObject({ source: 'puntos_api' });
  });
});

describe('beside another source', () => {
  let stub: SaldoStub;
  beforeAll(async () => {
    stub = await startSaldoStub();
  });
  afterAll(() => stub.close());

  it('being down at start touches nobody else', async () => {
    answer = () => [503, {}];
    await using server = await start({
      ...enabled(),
      MCP_CORP_SALDO_API__ENABLED: 'true',
      MCP_CORP_SALDO_API__BASE_URL: stub.url,
    });
    const client = await connectV2(`${server.url}/mcp`);
    const own = await client.callTool(puntos);
    const other = await client.callTool({ ...puntos, name: 'consultar_saldo' });
    await client.close();

    expect(codeOf(own)).toBe('circuit_open');
    expect(other.structuredContent).toMatchObject({ cedula: 'V16760320' });
  });
});

it('is not there when it is not enabled, and the log says why its tool is missing', async () => {
  await using server = await start({});
  expect(await diagnosticsOf(server)).toEqual({});
  expect(server.events('tools_registration_summary')).toMatchObject([
    { omitidas: { consultar_puntos: "requiere el conector 'puntos_api', que no está disponible" } },
  ]);
});

it('has its variables known: a misspelt one stops the start and names its neighbour', async () => {
  const name = 'MCP_CORP_PUNTOS_API__MAX_CONCURENCY';
  const server = await ServerProcess.spawn({ ...enabled(), [name]: '3' }, { command: [project.main] });

  expect(await server.exited).toBe(2);
  expect(server.events('configuration_error')).toMatchObject([
    { variable: name, problem: expect.stringContaining('MCP_CORP_PUNTOS_API__MAX_CONCURRENCY?') },
  ]);
});

it('has its settings checked: enabled without a base URL stops the start', async () => {
  const server = await ServerProcess.spawn({ MCP_CORP_PUNTOS_API__ENABLED: 'true' }, { command: [project.main] });

  expect(await server.exited).toBe(2);
  expect(server.events('configuration_error')).toMatchObject([{ variable: 'MCP_CORP_PUNTOS_API__BASE_URL' }]);
});

it('has its block in the configuration reference and in .env.example', async () => {
  await project.node('scripts/configuration-reference.mjs');
  const reference = project.read('docs/configuration.md');
  const [, block = ''] = reference.split('## Source puntos_api (loyalty points)\n');

  for (const suffix of ['ENABLED', 'BASE_URL', 'MAX_CONCURRENCY', 'RATE_LIMIT_PER_SECOND', 'BEARER_TOKEN'])
    expect(block.split('\n## ')[0]).toContain(`MCP_CORP_PUNTOS_API__${suffix}\``);
  expect(project.read('.env.example')).toContain('\nMCP_CORP_PUNTOS_API__ENABLED=false\n');
});

it('keeps to the import map', async () => {
  await expect(
    project.node(
      'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs',
      'src',
      '--config',
      '.dependency-cruiser.cjs',
    ),
  ).resolves.toContain('no dependency violations');
});
