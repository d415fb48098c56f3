// @ts-check
/**
 * The sources of a developer's machine, as docker-compose.dev.yml starts them: seeded, on loopback only, seeded anew by `down -v`, and
 * served with the values of .env.example, as the README says.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { openSession } from '../../scripts/load/mcp-session.mjs';
import { freePort } from '../../scripts/free-port.mjs';
import { BASE_IMAGE, ensureBaseImage } from './base-image.mjs';
import { ROOT } from './build-image.mjs';
import { attempt, run, until } from './commands.mjs';
import { findEngine } from './engine.mjs';
import { buildPostgres } from './stand-ins.mjs';
import { perform } from './stage.mjs';

/** The one that docker-compose.dev.yml names. */
const POSTGRES_IMAGE = 'postgres:16-alpine';
const DSN = 'postgresql://mcp_corp:mcp_corp@127.0.0.1:5432/mcp_corp';
const PROJECT = 'mcp-corp-verify';

/** @typedef {import('./engine.mjs').Engine} Engine @typedef {import('./stage.mjs').Stage} Stage */

/** `docker compose` where the plugin is, else Debian's `docker-compose`. @param {Engine} engine @param {Stage} stage */
async function composeOf(engine, stage) {
  const plugin = await engine.tryDocker(['compose', 'version']);
  if (plugin.code !== 0 && (await attempt('docker-compose', ['version']).catch(() => undefined)) === undefined) {
    if (process.getuid?.() !== 0) throw new Error('no docker compose here, and only root can install docker-compose');
    stage.say('installing docker-compose');
    const env = { DEBIAN_FRONTEND: 'noninteractive' };
    const args = ['install', '-y', '-qq', '--no-install-recommends', 'docker-compose'];
    await run('apt-get', args, { env, timeoutMs: 300_000 });
  }
  const file = ['-p', PROJECT, '-f', path.join(ROOT, 'docker-compose.dev.yml')];
  return (/** @type {string[]} */ ...args) =>
    plugin.code === 0
      ? engine.docker(['compose', ...file, ...args], { timeoutMs: 180_000 })
      : run('docker-compose', [...file, ...args], { env: engine.env, timeoutMs: 180_000 });
}

/** @param {string} sql @returns {Promise<number>} the first number of the first row */
async function ask(sql) {
  const client = new pg.Client({ connectionString: DSN });
  client.on('error', () => undefined); // the query or the connect reports the same error
  await client.connect();
  try {
    /** @type {import('pg').QueryArrayResult<[string]>} */
    const { rows } = await client.query({ text: sql, rowMode: 'array' });
    return Number(rows[0]?.[0]);
  } finally {
    await client.end();
  }
}

/** The server, with .env.example and both sources switched on, asked once. @param {Stage} stage */
async function serveOnce(stage) {
  await run('nest', ['build'], { cwd: ROOT, timeoutMs: 180_000 });
  const folder = mkdtempSync(path.join(tmpdir(), 'mcp-corp-env-'));
  stage.afterwards(async () => rmSync(folder, { recursive: true, force: true }));
  const port = await freePort();
  const values = readFileSync(path.join(ROOT, '.env.example'), 'utf8')
    .replaceAll(/__ENABLED=false$/gm, '__ENABLED=true')
    .replace(/^MCP_CORP_PORT=.*$/m, `MCP_CORP_PORT=${port}`)
    .replace(/^MCP_CORP_DRAIN_SECONDS=.*$/m, 'MCP_CORP_DRAIN_SECONDS=0');
  writeFileSync(path.join(folder, '.env'), values);
  const server = spawn('node', [path.join(ROOT, 'dist/main.js')], { cwd: folder, stdio: 'ignore' });
  /** @type {Promise<number | null>} */
  const gone = new Promise((resolve) => server.once('exit', (code) => resolve(code)));
  stage.afterwards(async () => {
    server.kill('SIGKILL');
    await gone;
  });
  const url = `http://127.0.0.1:${port}`;
  await until('the server is ready', async () => (await fetch(`${url}/ready`).catch(() => undefined))?.status === 200);
  const session = await openSession(`${url}/mcp`);
  const { structuredContent } = await session.call('resumen_cliente', { identificador: 'V-16.760.320' });
  await session.close();
  const whole =
    /** @type {{ resumen_completo?: boolean } | undefined} */ (structuredContent)?.resumen_completo === true;
  stage.prove('the server with the values of .env.example answers from both', whole);
  server.kill('SIGTERM');
  const code = await gone;
  stage.prove('and ends in order', code === 0, `exit code ${String(code)}`);
}

const customers = () => ask('select count(*) from clientes');

await perform({ title: 'compose', minutes: 10 }, async (stage) => {
  const engine = await findEngine(stage);
  await ensureBaseImage(engine, stage);
  const present = await engine.tryDocker(['image', 'inspect', POSTGRES_IMAGE]);
  if (
    present.code !== 0 &&
    (await engine.tryDocker(['pull', '-q', POSTGRES_IMAGE], { timeoutMs: 120_000 })).code !== 0
  ) {
    stage.say(`${POSTGRES_IMAGE} cannot be pulled here: making a stand-in`);
    if (!engine.own) stage.afterwards(() => engine.tryDocker(['image', 'rm', '-f', POSTGRES_IMAGE]));
    await buildPostgres(engine, POSTGRES_IMAGE);
  }
  const compose = await composeOf(engine, stage);
  stage.afterwards(() => compose('down', '-v'));

  const up = async () => {
    await compose('up', '-d');
    await until('both sources are healthy', async () => {
      const text = await engine.docker(['ps', '--filter', `name=${PROJECT}`, '--format', '{{.Status}}']);
      return text.split('\n').filter((state) => state.includes('(healthy)')).length === 2;
    });
  };
  await up();
  stage.prove('the database is seeded', (await customers()) === 4, `${await customers()} customers`);
  const balance = await (await fetch('http://127.0.0.1:8080/saldos/V16760320')).text();
  stage.prove('the stub answers', balance.includes('1500000.5'), balance);
  const ports = (await engine.docker(['ps', '--filter', `name=${PROJECT}`, '--format', '{{.Ports}}'])).split('\n');
  const open = ports.flatMap((line) => line.split(', ')).filter((port) => port.includes('->'));
  stage.prove(
    'both listen on loopback only',
    open.length === 2 && open.every((port) => port.startsWith('127.0.0.1:')),
    open.join(' '),
  );

  await serveOnce(stage);

  await ask("with gone as (delete from clientes where cedula = 'V16760322' returning 1) select count(*) from gone");
  await compose('down');
  await up();
  stage.prove('down keeps what was changed', (await customers()) === 3);
  await compose('down', '-v');
  await up();
  stage.prove('down -v seeds anew', (await customers()) === 4);
  stage.say(`base image: ${BASE_IMAGE}`);
});
