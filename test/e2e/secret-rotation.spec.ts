import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { dsnOf, queryOnce } from '../support/database.js';
import { startHttpServer, type TestServer } from '../support/http-server.js';
import { legacy } from '../support/mcp-http.js';
import { ServerProcess } from '../support/server-process.js';
import { until } from '../support/until.js';
import { createWorld, type World } from '../support/world.js';

const ROLE = `rotado_${process.pid}`;
const SECRETS = { before: 'SENTINELA-uno', after: 'SENTINELA-dos' };
const SLOTS = 4;

let world: World;
let saldos: TestServer;
let server: ServerProcess;
let accepted = new Set([`Bearer ${SECRETS.before}`]);
const seen = new Map<string, number>();
const folder = mkdtempSync(join(tmpdir(), 'rotation-'));

/** As a platform replaces a secret: the file is another one, whole, from one moment to the next. */
const put = (name: string, text: string) => {
  writeFileSync(join(folder, `${name}.new`), `${text}\n`);
  renameSync(join(folder, `${name}.new`), join(folder, name));
};
const dsn = (password: string) => dsnOf(world.database.name, { user: ROLE, password });

beforeAll(async () => {
  world = await createWorld();
  await world.database.query(`create role ${ROLE} login password '${SECRETS.before}'`);
  await world.database.query(`grant select on clientes to ${ROLE}`);
  saldos = await startHttpServer((request, response) => {
    const { authorization = '' } = request.headers;
    seen.set(authorization, (seen.get(authorization) ?? 0) + 1);
    if (!accepted.has(authorization)) response.writeHead(401).end();
    else response.end(JSON.stringify({ cedula: request.url?.split('/').at(-1), saldo: 10.5, moneda: 'VES' }));
  });
  put('dsn', dsn(SECRETS.before));
  put('token', SECRETS.before);
  const { MCP_CORP_POSTGRES__DSN: _, ...env } = world.env as Record<string, string>;
  server = await ServerProcess.ready({
    ...env,
    MCP_CORP_POSTGRES__DSN_FILE: join(folder, 'dsn'),
    MCP_CORP_POSTGRES__MAX_CONCURRENCY: String(SLOTS),
    MCP_CORP_POSTGRES__MAX_POOL_SIZE: String(SLOTS),
    MCP_CORP_POSTGRES__ACQUIRE_TIMEOUT_SECONDS: '20',
    MCP_CORP_SALDO_API__ACQUIRE_TIMEOUT_SECONDS: '20',
    MCP_CORP_SALDO_API__BASE_URL: saldos.url,
    MCP_CORP_SALDO_API__BEARER_TOKEN_FILE: join(folder, 'token'),
  });
});
afterAll(async () => {
  await server.stop();
  await world.database.query(`drop owned by ${ROLE}`);
  await world.database.query(`drop role ${ROLE}`);
  await saldos.close();
  await world[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/** Calls both sources, `width` at a time, until it is stopped; every answer that is not whole is kept. */
function load(width: number) {
  let going = true;
  const failed: unknown[] = [];
  let calls = 0;
  const one = async () => {
    while (going) {
      const params = { name: 'resumen_cliente', arguments: { identificador: 'V16760320' } };
      const { json } = await legacy(`${server.url}/mcp`, 'tools/call', params);
      const content = json.result['structuredContent'] as Record<string, { disponible?: boolean } | undefined>;
      calls += 1;
      if (content['saldo']?.disponible !== true || content['cliente']?.disponible !== true) failed.push(json.result);
    }
  };
  const workers = Promise.all(Array.from({ length: width }, one));
  return {
    more: async (count: number) => {
      const target = calls + count;
      await until(() => calls >= target, 30_000);
    },
    stop: async () => {
      going = false;
      await workers;
      return { calls, failed };
    },
  };
}

const sessions = () =>
  queryOnce<{ backend_start: Date }>(
    world.database.dsn,
    'select backend_start from pg_stat_activity where usename = $1',
    [ROLE],
  );

describe('rotated secrets', () => {
  it('are used for new connections and requests, without a restart and without a failed call', async () => {
    const light = load(1);
    await light.more(20);
    const [old] = await sessions();

    // Both at once, and the API admits the old token no longer: whoever has it still is asked to look again.
    await world.database.query(`alter role ${ROLE} password '${SECRETS.after}'`);
    put('dsn', dsn(SECRETS.after));
    put('token', SECRETS.after);
    accepted = new Set([`Bearer ${SECRETS.after}`]);
    const heavy = load(2 * SLOTS);
    await heavy.more(150);
    const now = await sessions();
    for (const { failed, calls } of [await light.stop(), await heavy.stop()]) {
      expect(failed).toEqual([]);
      expect(calls).toBeGreaterThan(20);
    }

    // The old connection lives on beside those that were opened with the new password.
    expect(now.map(({ backend_start: since }) => since.getTime())).toContain(old?.backend_start.getTime());
    expect(now.length).toBeGreaterThan(1);
    expect(seen.get(`Bearer ${SECRETS.after}`)).toBeGreaterThan(100);
    await server.until(() => server.events('source_secret_rotated').length >= 2);
    expect(
      server
        .events('source_secret_rotated')
        .map(({ source, variable }) => [source, variable])
        .sort(),
    ).toEqual([
      ['postgres', 'MCP_CORP_POSTGRES__DSN'],
      ['saldo_api', 'MCP_CORP_SALDO_API__BEARER_TOKEN'],
    ]);
  });

  it('are used where the API wants a key in a header of its own', async () => {
    const keys = new Set([SECRETS.before]);
    const refused: unknown[] = [];
    const api = await startHttpServer((request, response) => {
      const { 'x-llave': key } = request.headers;
      if (typeof key === 'string' && keys.has(key))
        return response.end(JSON.stringify({ cedula: request.url?.split('/').at(-1), saldo: 10.5, moneda: 'VES' }));
      refused.push(key);
      return response.writeHead(401).end();
    });
    put('key', SECRETS.before);
    await using other = await ServerProcess.ready({
      MCP_CORP_SALDO_API__ENABLED: 'true',
      MCP_CORP_SALDO_API__BASE_URL: api.url,
      MCP_CORP_SALDO_API__API_KEY_FILE: join(folder, 'key'),
      MCP_CORP_SALDO_API__API_KEY_HEADER: 'X-Llave',
      MCP_CORP_SALDO_API__ACQUIRE_TIMEOUT_SECONDS: '20',
    });
    const ask = async () => {
      const params = { name: 'consultar_saldo', arguments: { identificador: 'V16760320' } };
      return (await legacy(`${other.url}/mcp`, 'tools/call', params)).json.result;
    };
    const answered = { structuredContent: { saldo: 10.5 } };
    expect(await ask()).toMatchObject(answered);
    keys.clear();
    keys.add(SECRETS.after);
    put('key', SECRETS.after);
    for (const answer of await Promise.all(Array.from({ length: 20 }, ask))) expect(answer).toMatchObject(answered);
    // Whoever still had the old one looked again, and nobody's call failed.
    expect(refused.every((key) => key === SECRETS.before)).toBe(true);
    await api.close();
  });

  it('that nobody can use are told once, and the last good ones go on', async () => {
    put('token', 'SENTINELA con espacios');
    rmSync(join(folder, 'dsn'));
    // The old connections end: there must be new ones, whose password is looked for.
    await queryOnce(world.database.dsn, 'select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [
      ROLE,
    ]);
    await server.until((each) => each.events('tool_invocation_completed').length > 0);
    const again = load(4);
    await again.more(40);
    for (const told of ['source_secret_unusable', 'source_secret_unreadable'])
      await server.until(() => server.events(told).length > 0);
    expect((await again.stop()).failed).toEqual([]);
    expect(server.events('source_secret_unusable')).toMatchObject([{ source: 'saldo_api' }]);
    expect(server.events('source_secret_unreadable')).toMatchObject([{ source: 'postgres' }]);
    for (const text of ['SENTINELA', folder]) expect(server.stdout + server.stderr).not.toContain(text);
  });
});
