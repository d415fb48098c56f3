import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ESTADOS } from '../../src/clientes/texts.js';
import { startRoundRobin, type Balancer } from '../support/round-robin.js';
import { ServerProcess } from '../support/server-process.js';
import { createWorld, type World } from '../support/world.js';

interface Client {
  readonly package: string;
  /** How it is asked to speak, where it can be asked. */
  readonly mode?: string;
  readonly program: string;
  readonly options?: readonly string[];
  /** Revision that its requests name. */
  readonly speaks: string;
  readonly prompts: boolean;
}

const NEW = '2026-07-28';
const OLD = '2025-11-25';
const SDK = '@modelcontextprotocol/client';

/** The table of docs/clients.md. */
const CLIENTS: readonly Client[] = [
  { package: '@modelcontextprotocol/sdk', program: 'sdk-v1', speaks: OLD, prompts: true },
  { package: SDK, mode: 'legacy', program: 'sdk-v2', options: ['legacy'], speaks: OLD, prompts: true },
  { package: SDK, mode: 'auto', program: 'sdk-v2', options: ['auto'], speaks: NEW, prompts: true },
  { package: SDK, mode: 'pinned', program: 'sdk-v2', options: [NEW], speaks: NEW, prompts: true },
  { package: '@modelcontextprotocol/inspector', mode: 'CLI', program: 'inspector', speaks: OLD, prompts: true },
  { package: 'mcporter', mode: 'CLI', program: 'mcporter', speaks: OLD, prompts: false },
  { package: '@ai-sdk/mcp', program: 'ai-sdk', speaks: NEW, prompts: true },
  { package: '@langchain/mcp-adapters', program: 'langchain', speaks: OLD, prompts: false },
];

const HERE = new URL('.', import.meta.url).pathname;
const { dependencies } = JSON.parse(readFileSync(`${HERE}package.json`, 'utf8')) as {
  dependencies: Record<string, string>;
};

let world: World;
let server: ServerProcess;
let proxy: Balancer;
let named: Set<unknown>;
beforeAll(async () => {
  world = await createWorld();
  server = await ServerProcess.ready(world.env);
  // In between only to see which revision the requests name.
  proxy = await startRoundRobin([server.port], ({ headers }) => named.add(headers['mcp-protocol-version']));
});
afterAll(async () => {
  await proxy.close();
  await server.stop();
  await world[Symbol.asyncDispose]();
});

async function walk({ program, options = [] }: Client): Promise<Record<string, unknown>> {
  const script = `${HERE}walks/${program}.mjs`;
  const { stdout } = await promisify(execFile)(process.execPath, [script, proxy.url, ...options]);
  return JSON.parse(stdout) as Record<string, unknown>;
}

const titled = CLIENTS.map((client) => [[client.package, client.mode].filter(Boolean).join(', '), client] as const);

describe('the built server, with both sources, to the clients of the field', () => {
  it.each(titled)('%s lists, calls, reads and gets the prompt', async (_title, client) => {
    named = new Set();
    const walked = await walk(client);
    expect(walked).toEqual({
      tools: ['consultar_cliente', 'consultar_saldo', 'resumen_cliente'],
      called: {
        identificador: 'V16760320',
        cliente: {
          disponible: true,
          datos: {
            cedula: 'V16760320',
            nombre: 'Ana María Restrepo',
            email: 'ana.restrepo@example.com',
            estado: 'activo',
          },
          motivo: null,
        },
        saldo: {
          disponible: true,
          datos: { cedula: 'V16760320', saldo: 1500000.5, moneda: 'COP' },
          motivo: null,
        },
        resumen_completo: true,
      },
      read: expect.any(String),
      // Null is the walk's word for a client that has no way to get prompts.
      prompt: client.prompts ? expect.stringContaining('V-16.760.320') : null,
    });
    expect(JSON.parse(String(walked['read']))).toEqual(ESTADOS);
    // The first request of the 2025 era names nothing: it is the one that negotiates.
    named.delete(undefined);
    expect([...named]).toEqual([client.speaks]);
  });

  it('is what docs/clients.md says', () => {
    const table = readFileSync(new URL('../../docs/clients.md', import.meta.url), 'utf8');
    const rows = table.split('\n').filter((line) => line.startsWith('| `'));
    expect(
      rows.map((row) =>
        row
          .split('|')
          .map((cell) => cell.trim())
          .slice(1, -1),
      ),
    ).toEqual(
      CLIENTS.map(({ package: name, mode, speaks, prompts }) => [
        `\`${name}\``,
        dependencies[name],
        mode ?? '',
        speaks,
        'yes',
        'yes',
        'yes',
        prompts ? 'yes' : 'has no way to',
      ]),
    );
  });
});
