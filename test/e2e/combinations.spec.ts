import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connectV1, connectV2 } from '../support/mcp-clients.js';
import { ServerProcess } from '../support/server-process.js';
import { createWorld, type World } from '../support/world.js';

const RESOURCE = 'data://clientes/estados';
const NEEDS_POSTGRES = "requiere el conector 'postgres', que no está disponible";
const NEEDS_SALDO = "requiere el conector 'saldo_api', que no está disponible";
const NEEDS_BOTH = 'requiere ambos conectores; falta(n): ';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

interface Combination {
  readonly sources: string[];
  readonly tools: string[];
  readonly omitted: Readonly<Record<string, string>>;
}

/** Spec §5.1: what is registered with which sources, and why the rest is not. */
describe.each<Combination>([
  {
    sources: ['postgres', 'saldo_api'],
    tools: ['consultar_cliente', 'consultar_saldo', 'resumen_cliente'],
    omitted: {},
  },
  {
    sources: ['postgres'],
    tools: ['consultar_cliente'],
    omitted: { consultar_saldo: NEEDS_SALDO, resumen_cliente: `${NEEDS_BOTH}saldo_api` },
  },
  {
    sources: ['saldo_api'],
    tools: ['consultar_saldo'],
    omitted: { consultar_cliente: NEEDS_POSTGRES, resumen_cliente: `${NEEDS_BOTH}postgres` },
  },
  {
    sources: [],
    tools: [],
    omitted: {
      consultar_cliente: NEEDS_POSTGRES,
      consultar_saldo: NEEDS_SALDO,
      resumen_cliente: `${NEEDS_BOTH}postgres, saldo_api`,
    },
  },
])('with the sources $sources', ({ sources, tools, omitted }) => {
  const both = sources.length === 2;
  const database = sources.includes('postgres');
  let server: ServerProcess;
  beforeAll(async () => {
    server = await ServerProcess.ready({
      ...(database ? world.postgres : {}),
      ...(sources.includes('saldo_api') ? world.saldo : {}),
    });
  });
  afterAll(() => server.stop());

  it.each([
    ['2025-11-25', connectV1],
    ['2026-07-28', connectV2],
  ] as const)('the lists are exact in %s', async (_revision, connect) => {
    const client = await connect(`${server.url}/mcp`);

    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(tools);
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual(database ? [RESOURCE] : []);
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(both ? ['atencion_cliente'] : []);
    await client.close();
  });

  it('the log says what was registered and why the rest was not', () => {
    const [summary] = server.events('tools_registration_summary');
    expect(summary).toMatchObject({ logger: 'mcp_corp.tools', registradas: tools, omitidas: omitted });

    const resources = server.events('resource_not_registered').map(({ resource, motivo }) => ({ resource, motivo }));
    expect(resources).toEqual(database ? [] : [{ resource: RESOURCE, motivo: "requiere el conector 'postgres'" }]);
    const prompts = server.events('prompt_not_registered').map(({ prompt, motivo }) => ({ prompt, motivo }));
    const motivo = 'requiere ambos conectores (postgres y saldo_api)';
    expect(prompts).toEqual(both ? [] : [{ prompt: 'atencion_cliente', motivo }]);
  });

  it('/diagnostics shows the sources and nothing else', async () => {
    const response = await fetch(`${server.url}/diagnostics`);
    const body = (await response.json()) as { connectors: Record<string, object> };

    expect(Object.keys(body)).toEqual(['connectors']);
    expect(Object.keys(body.connectors)).toEqual(sources);
    for (const [source, entry] of Object.entries(body.connectors)) {
      expect(entry).toMatchObject({ source, circuit_state: 'closed', in_flight: 0, healthy: true });
    }
  });
});
