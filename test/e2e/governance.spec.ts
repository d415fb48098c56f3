import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { dsnOf } from '../support/database.js';
import { connectV1, connectV2, ERAS } from '../support/mcp-clients.js';
import { legacy, type Reply } from '../support/mcp-http.js';
import { ServerProcess } from '../support/server-process.js';
import { createWorld, type World } from '../support/world.js';

/** The policy of the demo, with sentinels wherever a secret can stand. */
const SENTINEL = 'SENTINELA';
const KEYS = {
  DEMO_KEY_ATENCION: `${SENTINEL}-atencion-0123456789`,
  DEMO_KEY_CAJA: `${SENTINEL}-caja-0123456789`,
  DEMO_KEY_TITULAR: `${SENTINEL}-titular-0123456789`,
};
const ROLE = `lector_${process.pid}`;
const PASSWORD = `${SENTINEL}-clave`;
const TOKEN = `${SENTINEL}-token`;

let world: World;
let server: ServerProcess;
const folder = mkdtempSync(join(tmpdir(), `${SENTINEL}-`));
const replies: string[] = [];

beforeAll(async () => {
  world = await createWorld();
  await world.database.query(`create role ${ROLE} login password '${PASSWORD}'`);
  await world.database.query(`grant select on clientes to ${ROLE}`);
  const policy = join(folder, 'policy.yaml');
  const text = readFileSync(new URL('../../examples/policy/policy.yaml', import.meta.url), 'utf8');
  writeFileSync(
    policy,
    text
      .replace('env://DEMO_SALDOS_TOKEN', `file://${folder}/token`)
      .replace('env://DEMO_CLIENTES_DSN', `file://${folder}/dsn`),
  );
  writeFileSync(join(folder, 'token'), `${TOKEN}\n`);
  writeFileSync(join(folder, 'dsn'), dsnOf(world.database.name, { user: ROLE, password: PASSWORD }));
  server = await ServerProcess.ready({
    ...world.env,
    ...KEYS,
    MCP_CORP_GOVERNANCE__MODE: 'policy',
    MCP_CORP_GOVERNANCE__POLICY: policy,
    MCP_CORP_LOG_LEVEL: 'DEBUG',
  });
});
afterAll(async () => {
  await server.stop();
  await world.database.query(`drop owned by ${ROLE}`);
  await world.database.query(`drop role ${ROLE}`);
  await world[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const post = async (key: string | undefined, method: string, params: object = {}): Promise<Reply> => {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const reply = await legacy(`${server.url}/mcp`, method, params, { headers });
  replies.push(reply.text, JSON.stringify(reply.headers));
  return reply;
};
const call = (key: string | undefined, name: string, identificador: string) =>
  post(key, 'tools/call', { name, arguments: { identificador } });
const data = ({ json }: Reply) => json.result['structuredContent'] as Record<string, unknown>;
const tools = async (key: string) =>
  ((await post(key, 'tools/list')).json.result['tools'] as { name: string }[]).map(({ name }) => name);

describe('the server under a policy', () => {
  it('shows each key what the example says', async () => {
    expect(await tools(KEYS.DEMO_KEY_ATENCION)).toEqual(['consultar_cliente', 'resumen_cliente']);
    expect(await tools(KEYS.DEMO_KEY_CAJA)).toEqual(['consultar_cliente', 'consultar_saldo', 'resumen_cliente']);
    expect(await tools(KEYS.DEMO_KEY_TITULAR)).toEqual(['consultar_cliente', 'consultar_saldo', 'resumen_cliente']);
  });

  it('runs each source with the account of the grant, as the sources see it', async () => {
    const reply = await call(KEYS.DEMO_KEY_CAJA, 'resumen_cliente', 'V-16.760.320');
    expect(data(reply)).toMatchObject({ resumen_completo: true });
    const seen = await world.database.query<{ usename: string }>(
      'select distinct usename from pg_stat_activity where datname = current_database() and application_name = $1',
      ['mcp-corp'],
    );
    expect(seen.map(({ usename }) => usename)).toContain(ROLE);
  });

  it('leaves out fields and parts, and binds the subject', async () => {
    const summary = data(await call(KEYS.DEMO_KEY_ATENCION, 'resumen_cliente', 'V16760320'));
    expect(summary['saldo']).toEqual({
      disponible: false,
      datos: null,
      motivo: 'no está autorizado para consultar este dato',
    });
    expect((summary['cliente'] as { datos: object }).datos).not.toHaveProperty('email');
    expect(data(await call(KEYS.DEMO_KEY_TITULAR, 'consultar_saldo', '16760320'))).toHaveProperty('saldo');
    expect((await call(KEYS.DEMO_KEY_TITULAR, 'consultar_saldo', 'V16760321')).text).toContain('subject_not_allowed');
  });

  it('uses the new secret of an account from the next call on', async () => {
    writeFileSync(join(folder, 'token'), `${TOKEN}-nuevo\n`);
    expect(data(await call(KEYS.DEMO_KEY_TITULAR, 'consultar_saldo', 'V16760320'))).toHaveProperty('saldo');
  });

  it('answers an unknown caller and a hidden tool with an explanation, or with nothing to learn', async () => {
    expect((await post(undefined, 'tools/list')).json.error.data).toMatchObject({ code: 'credential_missing' });
    expect((await call('otra', 'consultar_cliente', 'V1')).text).toContain('credential_invalid');
    expect((await call(KEYS.DEMO_KEY_ATENCION, 'consultar_saldo', 'V1')).json.error).toEqual({
      code: -32602,
      message: "Unknown tool: 'consultar_saldo'",
    });
  });

  it('keeps the truth of each call in the audit', async () => {
    const summaries = () => server.events('tool_invocation_completed').filter(({ tool }) => tool === 'resumen_cliente');
    const before = summaries().length;
    await call(KEYS.DEMO_KEY_ATENCION, 'resumen_cliente', 'V16760320');
    await server.until(() => summaries().length > before);
    expect(summaries().at(-1)).toMatchObject({
      ...{ principal: 'atencion:centro-de-llamadas', account: 'lector-clientes', grant: '/grants/0' },
      ...{ policy_version: expect.stringMatching(/^[0-9a-f]{12}$/), result: 'partial' },
      parts: { consultar_cliente: 'success', consultar_saldo: 'no_grant_matches' },
      pointer_consultar_saldo: '/grants',
    });
    const hidden = server.events('tool_invocation_completed').filter(({ tool }) => tool === 'consultar_saldo');
    expect(hidden).toContainEqual(expect.objectContaining({ result: 'denied', reason: 'no_grant_matches' }));
  });

  it.each(ERAS)('gives two callers at once what each of them may have, by %s', async (_, connect) => {
    const of = async (key: string) =>
      connect === connectV1
        ? connectV1(`${server.url}/mcp`, { authorization: `Bearer ${key}` })
        : connectV2(`${server.url}/mcp`, undefined, { authorization: `Bearer ${key}` });
    const [atencion, titular] = await Promise.all([of(KEYS.DEMO_KEY_ATENCION), of(KEYS.DEMO_KEY_TITULAR)]);
    const identificador = 'V16760320';
    const rounds = Array.from({ length: 10 }, async () => {
      const [few, all] = await Promise.all([atencion.listTools(), titular.listTools()]);
      expect([few.tools.length, all.tools.length]).toEqual([2, 3]);
      const [hidden, own] = await Promise.all([
        atencion
          .callTool({ name: 'consultar_saldo', arguments: { identificador } })
          .catch((error: Error) => error.message),
        titular.callTool({ name: 'consultar_saldo', arguments: { identificador } }),
      ]);
      expect(hidden).toContain("Unknown tool: 'consultar_saldo'");
      expect(own.structuredContent).toHaveProperty('saldo');
    });
    await Promise.all(rounds);
    await Promise.all([atencion.close(), titular.close()]);
  });

  it('tells a client without a key why it sees nothing, instead of showing it an empty server', async () => {
    for (const connect of [connectV1, connectV2]) {
      const client = await connect(`${server.url}/mcp`);
      await expect(client.listTools()).rejects.toMatchObject({
        code: -31_001,
        data: { code: 'credential_missing', explanation: expect.any(String), pointer: '/principals/issuers' },
      });
      await client.close();
    }
    await server.until((it) => it.events('list_refused').length >= 3);
    expect(server.events('list_refused').at(-1)).toMatchObject({
      ...{ logger: 'mcp_corp.audit', list: 'tools', result: 'denied', reason: 'credential_missing', principal: null },
      ...{ policy_version: expect.any(String), correlation_id: expect.stringMatching(/^[0-9a-f]{32}$/) },
    });
  });

  it.each([
    ['a wrong password', dsnOf('x', { user: ROLE, password: `${SENTINEL}-mala` })],
    ['a DSN that is none', `postgresql://${SENTINEL}:${SENTINEL}@[nada/%zz`],
    ['no text', ''],
  ])('does not tell the credential of an account that is %s', async (_, dsn) => {
    writeFileSync(join(folder, 'dsn'), dsn);
    const reply = await call(KEYS.DEMO_KEY_TITULAR, 'consultar_cliente', 'V16760320');
    expect(reply.json.result['isError']).toBe(true);
    // Nothing of the other account, whose source is asked as before.
    expect(data(await call(KEYS.DEMO_KEY_TITULAR, 'consultar_saldo', 'V16760320'))).toHaveProperty('saldo');
  });

  it('has told a secret, a reference or the origin of the policy nowhere', async () => {
    for (const route of ['health', 'ready', 'diagnostics'])
      replies.push(await (await fetch(`${server.url}/${route}`)).text());
    expect(await server.stop()).toBe(0);
    const told = [server.stdout, server.stderr, ...replies].join('\n');
    expect(told.length).toBeGreaterThan(10_000);
    expect(told).not.toContain(SENTINEL);
    expect(told).not.toMatch(/policy\.yaml|DEMO_KEY|DEMO_CLIENTES|env:\/\/|file:\/\//);
    for (const clear of ['16760320', '16.760.320', '16760321', 'restrepo'])
      expect(server.stdout.toLowerCase()).not.toContain(clear);
  });
});
