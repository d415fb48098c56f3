import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { connectV1, connectV2, type McpClient } from '../support/mcp-clients.js';
import { ServerProcess } from '../support/server-process.js';
import { until } from '../support/until.js';
import { createWorld, type World } from '../support/world.js';

/**
 * Architecture §7: no clear identifier, name, e-mail address, balance or secret reaches anything the process writes, nor
 * /diagnostics. Every spelling goes through every path, the failing ones above all.
 */
const SPELLINGS = [
  '16760320',
  '16.760.320',
  'V16760320',
  'V-16760320',
  'V-16.760.320',
  'v-16.760.320',
  'V 16 760 320',
  'V-16760320-0',
  '167603200',
  'C.I. 16.760.320',
  'RIF: V-16760320-0',
];
const CLEAR = [
  /1\D?6\D?7\D?6\D?0\D?3\D?2\D?[0-2]/,
  /9\D?0\D?0\D?0\D?0\D?0\D?0\D?[1-9]/,
  /Ana Mar|Restrepo|Lucía|Simulado/i,
  /@example\.com/i,
  /1500000|320000/,
];

let world: World;
let server: ServerProcess;
const folder = mkdtempSync(join(tmpdir(), 'mcp-corp-canary-'));
beforeAll(async () => {
  world = await createWorld();
  server = await ServerProcess.ready(
    {
      ...world.env,
      MCP_CORP_LOG_LEVEL: 'DEBUG',
      MCP_CORP_SALDO_API__OPERATION_TIMEOUT_SECONDS: '0.5',
      MCP_CORP_SALDO_API__CIRCUIT_FAILURE_THRESHOLD: '1000',
    },
    { cwd: folder },
  );
});
afterAll(async () => {
  await server.stop();
  await world[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

async function everyPath(client: McpClient): Promise<void> {
  const swallow = () => undefined;
  for (const identificador of SPELLINGS) {
    for (const name of ['consultar_cliente', 'consultar_saldo', 'resumen_cliente']) {
      await client.callTool({ name, arguments: { identificador } });
    }
    // Where an outsider can put a text: names, extra arguments, wrong types, URIs, prompt arguments.
    await client.callTool({ name: identificador, arguments: {} }).catch(swallow);
    await client
      .callTool({ name: 'consultar_cliente', arguments: { identificador, [identificador]: identificador } })
      .catch(swallow);
    await client.callTool({ name: 'consultar_cliente', arguments: { cedula: identificador } }).catch(swallow);
    await client.readResource({ uri: `data://clientes/${encodeURIComponent(identificador)}` }).catch(swallow);
    await client.getPrompt({ name: 'atencion_cliente', arguments: { identificador } });
    await client.getPrompt({ name: identificador, arguments: {} }).catch(swallow);
  }
  await client.callTool({ name: 'consultar_cliente', arguments: { identificador: 16760320 } }).catch(swallow);
  for (const fault of ['bad_json', 'wrong_cedula', 'drop', 'silence', 'dripping_body'] as const) {
    world.stub.setFault({ kind: fault });
    await client.callTool({ name: 'resumen_cliente', arguments: { identificador: 'V16760320' } });
  }
  world.stub.setFault(undefined);
  for (const identificador of ['V90000001', 'V-16760320-9', 'V-90000001']) {
    await client.callTool({ name: 'resumen_cliente', arguments: { identificador } });
  }
}

it('no clear identifier, name, address, balance or secret is in anything the process wrote', async () => {
  const v1 = await connectV1(`${server.url}/mcp`);
  const v2 = await connectV2(`${server.url}/mcp`);
  await everyPath(v1);
  await everyPath(v2);
  await Promise.all([v1.close(), v2.close()]);
  // Raw requests: query strings, headers, broken bodies.
  const post = (body: string, headers: Record<string, string> = {}) =>
    fetch(`${server.url}/mcp?identificador=V16760320`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', ...headers },
    });
  await post('{"identificador":"V16760320"');
  await post('[]', { 'user-agent': 'V-16760320', 'x-request-id': 'V16760320', 'mcp-session-id': 'V16760320' });
  await fetch(`${server.url}/saldos/V16760320`);
  // A table that is not there: the driver's error would quote the statement.
  await world.database.query('alter table clientes rename to otra');
  const client = await connectV2(`${server.url}/mcp`);
  await client.callTool({ name: 'consultar_cliente', arguments: { identificador: 'V16760320' } });
  await client.close();
  const diagnostics = await (await fetch(`${server.url}/diagnostics`)).text();

  expect(await server.stop()).toBe(0);
  const written = server.stdout + server.stderr + diagnostics;
  expect(server.events('tool_invocation_completed').length).toBeGreaterThan(100);
  for (const pattern of CLEAR) {
    expect(written.split('\n').filter((line) => pattern.test(withoutTimes(line)))).toEqual([]);
  }
  const password = /:\/\/[^:]+:([^@]+)@/.exec(world.database.dsn)?.[1] ?? 'no password';
  for (const secret of [password, world.database.name, 'clave-secreta-de-prueba-a'])
    expect(written).not.toContain(secret);
});

/** Digits that are the machine's own: times, durations, random ids, pseudonyms. */
function withoutTimes(line: string): string {
  return line
    .replace(/"timestamp":"[^"]*"|"(?:correlation_id|trace_id|key_id)":"[0-9a-f]*"|hmac-sha256:[0-9a-f]{12}/g, '')
    .replace(/"(?:at|opened_at|next_probe_at)":"[^"]*"|"(?:duration_ms|usage_ms|connections_ms|port)":[\d.]+/g, '');
}

it('every spelling of one identifier has the pseudonym of its canonical form', async () => {
  const expected = 'hmac-sha256:d847f45a92a6';
  const other = await createWorld();
  await using fresh = await ServerProcess.ready(other.env);
  const client = await connectV1(`${fresh.url}/mcp`);
  for (const identificador of SPELLINGS)
    await client.callTool({ name: 'consultar_cliente', arguments: { identificador } });
  await client.close();
  await until(() => fresh.events('tool_invocation_completed').length === SPELLINGS.length);
  const identifiers = [...fresh.events('tool_invocation_started'), ...fresh.events('tool_invocation_completed')].map(
    ({ identifier }) => identifier,
  );
  expect(new Set(identifiers)).toEqual(new Set([expected]));
  await fresh.stop();
  await other[Symbol.asyncDispose]();
});
