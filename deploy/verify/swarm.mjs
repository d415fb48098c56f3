// @ts-check
/**
 * The stack as deploy/README.md deploys it, on a real swarm of one node, behind HAProxy (Traefik cannot be had here; its labels are
 * asserted by the unit tests): three replicas, both steps, a new audit key, a new login for the database, more and fewer replicas, a
 * rolling update, a broken image, a policy and its change, all of it under calls that never stop and of which none may fail.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { freePort } from '../../scripts/free-port.mjs';
import { ensureBaseImage } from './base-image.mjs';
import { ROOT, buildImage } from './build-image.mjs';
import { fromJson, until } from './commands.mjs';
import { ContinuousLoad } from './continuous-load.mjs';
import { findEngine } from './engine.mjs';
import { buildHaproxy, buildPostgres, haproxyConfiguration } from './stand-ins.mjs';
import { runBlock } from './runbook.mjs';
import { perform } from './stage.mjs';

const HOST = 'mcp-corp.example.test';
const STACK = 'mcp-corp';
const SERVICE = `${STACK}_mcp-corp`;
const STUB_STACK = 'saldo-api-stub';
const DEMO_STACK = 'mcp-corp-demo';
const NETWORKS = ['traefik_public', 'agent_network', 'traefik-public'];
const IMAGES = { first: 'mcp-corp:verify-1', second: 'mcp-corp:verify-2', broken: 'mcp-corp:verify-broken' };
const OTHERS = { postgres: 'mcp-corp-verify-postgres:1', haproxy: 'mcp-corp-verify-haproxy:1' };
const REPLICAS = 3;
const UPDATE_MS = 480_000;

/** HAProxy learns of a new task within a second: the wait that Traefik needs between two replicas would only be long. */
const UPDATE_DELAY = '3s';

/** What the runbook's commands write beside the Dockerfile. */
const WRITTEN = ['mcp-corp-image.tar.gz', 'sbom.cdx.json'];

/** What must be set again for every deployment: after step 3b, after the audit key's rotation, after that of the database's login. */
const BALANCE = { SALDO_API_ENABLED: 'true', SALDO_API_BASE_URL: 'http://saldo-api-stub:8080' };
const NEW_KEY = { ...BALANCE, AUDIT_SECRET: 'mcp_corp_audit_hmac_secret_2' };
const KEPT = { ...NEW_KEY, POSTGRES_DSN_SECRET: 'mcp_corp_postgres_dsn_2' };

/** The database's logins, one after the other. */
const LOGINS = ['lector_1', 'lector_2'];

const POLICY = 'deploy/swarm/policy.example.yaml';

/** @typedef {import('./engine.mjs').Engine} Engine @typedef {import('./stage.mjs').Stage} Stage */

/** @param {Engine} engine @param {Stage} stage */
async function joinSwarm(engine, stage) {
  const state = await engine.docker(['info', '--format', '{{.Swarm.LocalNodeState}}']);
  if (state !== 'inactive') throw new Error(`this engine is already part of a swarm (${state}): not touching it`);
  stage.afterwards(() => engine.tryDocker(['swarm', 'leave', '--force']));
  if (!engine.own) {
    stage.afterwards(() => engine.tryDocker(['image', 'rm', '-f', ...Object.values(IMAGES), ...Object.values(OTHERS)]));
  }
  await engine.docker(['swarm', 'init', '--advertise-addr', '127.0.0.1', '--listen-addr', '127.0.0.1:2377']);
}

/** @param {Engine} engine @param {Stage} stage */
async function buildImages(engine, stage) {
  stage.afterwards(async () => WRITTEN.forEach((file) => rmSync(path.join(ROOT, file), { force: true })));
  // The host's network: it is the one that can reach the registry.
  const env = { IMAGE: IMAGES.first, BUILD_FLAGS: '--quiet --network host' };
  await runBlock(engine, 'build', env);
  await runBlock(engine, 'sbom', env);
  const bom = /** @type {{ components: unknown[] }} */ (
    fromJson(readFileSync(path.join(ROOT, 'sbom.cdx.json'), 'utf8'))
  );
  stage.prove(
    'the runbook builds the image and reads its bill of materials',
    bom.components.length > 100,
    `${bom.components.length} components`,
  );
  const loaded = await runBlock(engine, 'save', env);
  stage.prove('the image can be carried as an archive', loaded.includes(IMAGES.first), loaded);
  const told = await runBlock(engine, 'capacity', env);
  stage.prove('the image prints the arithmetic of capacity', told.includes('result        fits'));
  await buildImage(engine, IMAGES.second, 'second');
  // A misspelt setting: the server refuses to start, exit code 2.
  const broken = `FROM ${IMAGES.first}\nENV MCP_CORP_POSTGRES__ENABLE=true\n`;
  await engine.docker(['build', '-q', '-t', IMAGES.broken, '-'], { input: broken });
  await buildPostgres(engine, OTHERS.postgres);
  await buildHaproxy(engine, OTHERS.haproxy);
  stage.say('images built');
}

class Deployment {
  #port = 0;
  #databasePort = 0;
  /** Of the database's owner. */
  #password = randomBytes(12).toString('hex');
  /** Presented by the callers from the beginning: where nobody asks, it changes nothing. */
  #callerKey = randomBytes(24).toString('hex');
  /** @type {ContinuousLoad | undefined} */
  #load;

  /** @param {Engine} engine @param {Stage} stage */
  constructor(engine, stage) {
    this.engine = engine;
    this.stage = stage;
    stage.afterwards(() => this.#takeDown());
  }

  async #takeDown() {
    await this.#load?.stop();
    await this.engine.tryDocker(['stack', 'rm', STACK, STUB_STACK, DEMO_STACK]);
    await this.engine.tryDocker(['service', 'rm', 'postgres', 'balancer']);
    if (this.engine.own) return;
    await until('the tasks are gone', async () => (await this.engine.docker(['ps', '-q'])) === '', {
      timeoutMs: 60_000,
    });
    await this.engine.tryDocker(['network', 'rm', ...NETWORKS]);
  }

  /** Networks, secrets, database, balance API and balancer: what the runbook takes for granted. */
  async surroundings() {
    const { engine } = this;
    await runBlock(engine, 'networks');
    this.#databasePort = await freePort();
    const seed = path.join(ROOT, 'deploy/dev/postgres-seed.sql');
    await engine.docker(['config', 'create', 'seed', seed]);
    const environment = { POSTGRES_USER: 'mcp_corp', POSTGRES_PASSWORD: this.#password, POSTGRES_DB: 'mcp_corp' };
    await engine.docker([
      ...['service', 'create', '-d', '--no-resolve-image', '--name', 'postgres', '--network', 'agent_network'],
      ...['--endpoint-mode', 'dnsrr', '--config', 'source=seed,target=/docker-entrypoint-initdb.d/seed.sql'],
      ...['--publish', `mode=host,published=${this.#databasePort},target=5432`],
      ...Object.entries(environment).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
      ...['--health-cmd', 'pg_isready', '--health-interval', '5s', OTHERS.postgres],
    ]);
    await runBlock(engine, 'stub');
    await this.#allRun('postgres', 1);
    await runBlock(engine, 'secrets', { POSTGRES_DSN: await this.#newLogin(LOGINS[0] ?? '') });
    await this.#startBalancer();
    for (const name of [`${STUB_STACK}_saldo-api-stub`, 'balancer']) await this.#allRun(name, 1);
  }

  /** A login that may only read; its DSN. @param {string} name */
  async #newLogin(name) {
    const password = randomBytes(12).toString('hex');
    await this.#asOwner(`create role ${name} login password '${password}' in role pg_read_all_data`);
    return `postgresql://${name}:${password}@postgres:5432/mcp_corp?sslmode=disable`;
  }

  /** @param {string} sql @returns {Promise<Record<string, unknown>[]>} */
  async #asOwner(sql) {
    const connectionString = `postgresql://mcp_corp:${this.#password}@127.0.0.1:${this.#databasePort}/mcp_corp`;
    const client = new pg.Client({ connectionString });
    client.on('error', () => undefined); // the query or the connect reports the same error
    await client.connect();
    try {
      /** @type {import('pg').QueryResult<Record<string, unknown>>} */
      const { rows } = await client.query(sql);
      return rows;
    } finally {
      await client.end();
    }
  }

  /** Sessions of a login at the database. @param {string} name */
  async #sessionsOf(name) {
    const [row] = await this.#asOwner(`select count(*)::int as count from pg_stat_activity where usename = '${name}'`);
    return Number(row?.['count']);
  }

  async #startBalancer() {
    this.#port = await freePort();
    const file = haproxyConfiguration({ port: 8080, host: HOST, tasks: `tasks.${SERVICE}`, server: 8000, most: 8 });
    await this.engine.docker(['config', 'create', 'balancer', '-'], { input: file });
    await this.engine.docker([
      ...['service', 'create', '-d', '--no-resolve-image', '--name', 'balancer', '--network', 'traefik_public'],
      ...['--endpoint-mode', 'dnsrr', '--config', 'source=balancer,target=/haproxy.cfg'],
      ...['--publish', `mode=host,published=${this.#port},target=8080`, OTHERS.haproxy, '/haproxy.cfg'],
    ]);
  }

  /** What an operator has set in his shell. @param {string} image @param {Record<string, string>} [more] */
  #env(image, more = {}) {
    return { IMAGE: image, PUBLIC_HOST: HOST, UPDATE_DELAY, ...more };
  }

  /** Step 3a of the runbook, after it was refused without its placeholders. */
  async firstStep() {
    const { engine, stage } = this;
    for (const missing of ['IMAGE', 'PUBLIC_HOST']) {
      const env = { IMAGE: IMAGES.first, PUBLIC_HOST: HOST, [missing]: '' };
      const args = ['stack', 'deploy', '-c', path.join(ROOT, 'deploy/swarm/mcp-corp-stack.yml'), STACK];
      const refused = await engine.tryDocker(args, { env });
      stage.prove(`without ${missing} nothing is deployed`, refused.code !== 0 && refused.stderr.includes(missing));
    }
    await runBlock(engine, 'deploy-a', this.#env(IMAGES.first));
    await this.#allRun(SERVICE, REPLICAS);
    const url = `http://127.0.0.1:${this.#port}/mcp`;
    await until('the balancer reaches a replica', async () => (await this.#tools(url)) !== undefined);
    const tools = await this.#tools(url);
    stage.prove('step 3a: three replicas serve the database only', tools === 'consultar_cliente', tools);
    const check = await runBlock(engine, 'check');
    stage.prove("the runbook's check names every replica", check.split('tools_registration_summary').length > REPLICAS);
    await this.#hardened();
    const load = new ContinuousLoad({
      url,
      tool: 'consultar_cliente',
      identificador: 'V16760320',
      callers: 4,
      pauseMs: 150,
      authorization: `Bearer ${this.#callerKey}`,
    });
    this.#load = load;
    await until('every replica has answered', async () => (await this.#replicas()).size === REPLICAS);
    stage.prove('the balancer spreads the calls over all replicas', true, `${REPLICAS} replicas`);
    return load;
  }

  /** How the engine holds one of the tasks. */
  async #hardened() {
    const [container = ''] = (await this.engine.docker(['ps', '-q', '--filter', `name=${SERVICE}`])).split('\n');
    const [inspected] =
      /** @type {{ HostConfig: { ReadonlyRootfs: boolean, CapDrop: string[], Memory: number }, Config: { User: string } }[]} */ (
        fromJson(await this.engine.docker(['inspect', container]))
      );
    const { HostConfig, Config } = inspected ?? {};
    this.stage.prove(
      'tasks run as 1000:0 on a read-only root, without capabilities, in limited memory',
      HostConfig?.ReadonlyRootfs === true &&
        HostConfig.CapDrop.includes('ALL') &&
        HostConfig.Memory > 0 &&
        Config?.User === '1000:0',
    );
  }

  /** Step 3b: the balance API too. */
  async secondStep() {
    await this.#update('step 3b: the balance API is switched on', 'deploy-b', this.#env(IMAGES.first));
    const tools = await this.#tools(`http://127.0.0.1:${this.#port}/mcp`);
    this.stage.prove(
      'all three tools are served',
      tools === 'consultar_cliente consultar_saldo resumen_cliente',
      tools,
    );
    const sources = await runBlock(this.engine, 'diagnostics');
    this.stage.prove(
      'a replica tells from inside what it knows of its sources',
      ['postgres', 'saldo_api'].every((source) => sources.includes(source)) && sources.includes('closed'),
    );
    const metrics = await runBlock(this.engine, 'metrics');
    this.stage.prove(
      'and what it has counted, for whoever has the token',
      /^mcp_corp_calls_total\{.*name="consultar_cliente".*\} [1-9]/m.test(metrics),
      `${metrics.split('\n').length} lines`,
    );
  }

  async newAuditKey() {
    const [before] = await this.#records('5s');
    await this.#update('a new audit key comes into use', 'rotate-begin', this.#env(IMAGES.first, BALANCE));
    const record = await until('records carry both keys', async () =>
      (await this.#records('5s')).find(
        (each) => each['key_id_previous'] === before?.['key_id'] && each['key_id'] !== before?.['key_id'],
      ),
    );
    this.stage.prove(
      'records carry the new pseudonym and the one before',
      true,
      `${String(record['key_id_previous'])} → ${String(record['key_id'])}`,
    );
    await this.#update('the old audit key goes out of use', 'rotate-end', this.#env(IMAGES.first, BALANCE));
    await runBlock(this.engine, 'rotate-remove');
    this.stage.prove('and can be removed', true);
  }

  async newDatabaseLogin() {
    const [former = '', next = ''] = LOGINS;
    const env = this.#env(IMAGES.first, { ...NEW_KEY, POSTGRES_DSN: await this.#newLogin(next) });
    await this.#update('a new login for the database comes into use', 'rotate-dsn', env);
    const before = this.#told();
    const [left, used] = [await this.#sessionsOf(former), await this.#sessionsOf(next)];
    await this.#asOwner(`alter role ${former} nologin`);
    await runBlock(this.engine, 'rotate-dsn-remove');
    await until('calls go on without the former login', async () => this.#told().calls > before.calls + 20);
    this.stage.prove(
      'every replica uses the new login',
      left === 0 && used > 0,
      `${used} sessions of it, ${left} of the former`,
    );
    this.#proveQuiet('the former login is taken away', before);
  }

  /** Who calls is asked, and what he may do is changed. */
  async policy() {
    const { stage } = this;
    const url = `http://127.0.0.1:${this.#port}/mcp`;
    const env = this.#env(IMAGES.first, { ...KEPT, CALLER_KEY: this.#callerKey });
    await this.#update('a policy comes into force', 'policy-begin', env);
    stage.prove('who has no key is shown nothing', (await this.#tools(url, '')) === undefined);
    const first = await this.#tools(url);
    stage.prove('who has one is shown what the policy grants', first === 'consultar_cliente', first);

    const folder = mkdtempSync(path.join(tmpdir(), 'mcp-corp-policy-'));
    stage.afterwards(async () => rmSync(folder, { recursive: true, force: true }));
    const file = path.join(folder, 'policy.yaml');
    const text = readFileSync(path.join(ROOT, POLICY), 'utf8');
    writeFileSync(file, text.replace('capabilities: [cliente.leer]', 'capabilities: [cliente.leer, resumen.leer]'));
    await this.#update('the policy is changed', 'policy-change', { ...env, POLICY_FILE: file });
    // Deployed again with the mode and without the second file.
    const before = this.#told();
    await this.#broken('the policy is forgotten', this.#env(IMAGES.first, { ...KEPT, GOVERNANCE_MODE: 'policy' }));
    this.#proveQuiet('the policy is forgotten', before);
    const second = await this.#tools(url);
    stage.prove('and its change is in force', second === 'consultar_cliente resumen_cliente', second);
  }

  async demo() {
    const { engine, stage } = this;
    await runBlock(engine, 'demo', { IMAGE: IMAGES.first });
    await this.#allRun(`${DEMO_STACK}_mcp-corp`, 2);
    stage.prove('the demo runs its two replicas', true);
    await runBlock(engine, 'demo-remove');
  }

  async scale() {
    const before = this.#told();
    await runBlock(this.engine, 'scale');
    await this.#allRun(SERVICE, 5);
    for (const count of [2, REPLICAS]) {
      await this.engine.docker(['service', 'scale', '-d', `${SERVICE}=${count}`]);
      await this.#allRun(SERVICE, count);
    }
    this.#proveQuiet('3 → 5 → 2 → 3 replicas', before);
  }

  async rollingUpdate() {
    await this.#update('a rolling update to another image', 'upgrade', this.#env(IMAGES.second, KEPT));
    await this.#runs(IMAGES.second);
    const before = this.#told();
    await runBlock(this.engine, 'rollback');
    await this.#allRun(SERVICE, REPLICAS);
    await this.#runs(IMAGES.first);
    this.#proveQuiet('a rollback by hand', before);
  }

  /** @param {string} image */
  async #runs(image) {
    const images = await this.engine.docker(['ps', '--filter', `name=${SERVICE}`, '--format', '{{.Image}}']);
    this.stage.prove(`every replica runs ${image}`, new Set(images.split('\n')).size === 1 && images.includes(image));
  }

  /** A deployment that cannot work. @param {string} what @param {Record<string, string>} env */
  async #broken(what, env) {
    const since = await this.#updateStarted();
    await runBlock(this.engine, 'upgrade', env);
    const state = await until(
      'the update is judged',
      async () => {
        const { State, StartedAt } = await this.#updateStatus();
        return (
          StartedAt !== since &&
          ['rollback_completed', 'rollback_paused', 'completed', 'paused'].includes(State) &&
          State
        );
      },
      { timeoutMs: UPDATE_MS },
    );
    this.stage.prove(`${what}: rolls back by itself`, state === 'rollback_completed', state);
    await this.#allRun(SERVICE, REPLICAS);
  }

  async brokenImage() {
    const before = this.#told();
    await this.#broken('a broken image', this.#env(IMAGES.broken, KEPT));
    const why = await runBlock(this.engine, 'why');
    this.stage.prove('and its tasks say why they ended', why.includes('non-zero exit (2)'));
    const image = await this.engine.docker([
      'service',
      'inspect',
      '-f',
      '{{.Spec.TaskTemplate.ContainerSpec.Image}}',
      SERVICE,
    ]);
    this.stage.prove('and the service is what it was', image === IMAGES.first, image);
    this.#proveQuiet('the broken update', before);
  }

  /** A replica that SIGKILL had to end has 137. */
  async howReplicasEnded() {
    const ids = await this.engine.docker(['service', 'ps', '-q', '--filter', 'desired-state=shutdown', SERVICE]);
    /** @type {Map<string, number>} */
    const codes = new Map();
    for (const id of ids.split('\n').filter(Boolean)) {
      const task = await this.engine.docker([
        ...[
          'inspect',
          '-f',
          '{{.Spec.ContainerSpec.Image}} {{.Status.State}} {{with .Status.ContainerStatus}}{{.ExitCode}}{{end}}',
          id,
        ],
      ]);
      codes.set(task, (codes.get(task) ?? 0) + 1);
    }
    const ends = [...codes].map(([task, count]) => `${count} × ${task}`);
    const isRefused = (/** @type {string} */ task) => task.endsWith(' failed 2');
    const served = [...codes.keys()].filter((task) => !task.startsWith(IMAGES.broken) && !isRefused(task));
    this.stage.prove(
      'every replica that was taken away ended in order',
      served.length > 0 && served.every((task) => task.endsWith(' shutdown 0')),
      ends.join(', '),
    );
    // Of a misspelt setting, and of the mode without a policy.
    for (const image of [IMAGES.broken, IMAGES.first]) {
      const refused = [...codes.keys()].some((task) => task.startsWith(image) && isRefused(task));
      this.stage.prove(`what could not work with ${image} ended with 2`, refused);
    }
  }

  /** Of the replicas whose log is still there: each call that began has ended. */
  async reconcile() {
    const told = await runBlock(this.engine, 'reconcile', { IMAGE: IMAGES.first });
    this.stage.prove(
      'the audit of all replicas is whole',
      told.includes(' complete, 0 starts'),
      told.split('\n').at(-1),
    );
  }

  /** @param {string} what @param {string} block of the runbook @param {Record<string, string>} env */
  async #update(what, block, env) {
    const before = this.#told();
    const since = await this.#updateStarted();
    const start = performance.now();
    await runBlock(this.engine, block, env);
    const state = await until(
      what,
      async () => {
        const { State, StartedAt } = await this.#updateStatus();
        return StartedAt !== since && State !== 'updating' && State;
      },
      { timeoutMs: UPDATE_MS },
    );
    await this.#allRun(SERVICE, REPLICAS);
    this.stage.prove(what, state === 'completed', `${state} in ${((performance.now() - start) / 1000).toFixed(0)} s`);
    this.#proveQuiet(what, before);
  }

  #told() {
    return this.#load?.told ?? { calls: 0, failed: 0, failures: [] };
  }

  /** @param {string} what @param {{ calls: number, failed: number }} before */
  #proveQuiet(what, before) {
    const { calls, failed } = this.#told();
    const figure = `${failed - before.failed} of ${calls - before.calls}`;
    this.stage.prove(`${what}: no call failed`, failed === before.failed && calls > before.calls, figure);
  }

  async #updateStarted() {
    return (await this.#updateStatus()).StartedAt;
  }

  /** @returns {Promise<{ State: string, StartedAt: string }>} */
  async #updateStatus() {
    const text = await this.engine.docker(['service', 'inspect', '-f', '{{json .UpdateStatus}}', SERVICE]);
    return /** @type {{ State: string, StartedAt: string } | null} */ (fromJson(text)) ?? { State: '', StartedAt: '' };
  }

  /** As many tasks as wanted run, all of them healthy, and no more. @param {string} service @param {number} count */
  async #allRun(service, count) {
    await until(
      `${count} healthy tasks of ${service}`,
      async () => {
        const text = await this.engine.docker(['ps', '--filter', `name=^${service}\\.`, '--format', '{{.Status}}']);
        const states = text.split('\n').filter(Boolean);
        return states.length === count && states.every((state) => !/starting|unhealthy/.test(state));
      },
      { timeoutMs: 240_000, everyMs: 1000 },
    ).catch(async (error) => {
      const [container = ''] = (await this.engine.docker(['ps', '-q', '--filter', `name=^${service}\\.`])).split('\n');
      this.stage.say((await this.engine.tryDocker(['inspect', '-f', '{{json .State.Health}}', container])).stdout);
      this.stage.say(await this.engine.docker(['service', 'ps', '--no-trunc', service]));
      throw error;
    });
  }

  /**
   * Names of the tools, sorted; undefined while nobody answers, or who asks is refused.
   *
   * @param {string} url @param {string} [key] of the caller; empty: none
   */
  async #tools(url, key = this.#callerKey) {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    const headers = {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      ...(key !== '' && { Authorization: `Bearer ${key}` }),
    };
    const answer = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(5000) }).catch(
      () => undefined,
    );
    if (answer?.status !== 200) return undefined;
    const { result } = /** @type {{ result?: { tools: { name: string }[] } }} */ (await answer.json());
    return result?.tools
      .map(({ name }) => name)
      .sort()
      .join(' ');
  }

  /** The audit's lines of the last while. @param {string} since @returns {Promise<Record<string, unknown>[]>} */
  async #records(since) {
    const { stdout } = await this.engine.tryDocker(['service', 'logs', '--raw', '--since', since, SERVICE]);
    return stdout
      .split('\n')
      .filter((line) => line.startsWith('{') && line.includes('mcp_corp.audit'))
      .map((line) => /** @type {Record<string, unknown>} */ (fromJson(line)));
  }

  async #replicas() {
    return new Set((await this.#records('10s')).map((record) => record['replica']));
  }
}

await perform({ title: 'swarm', minutes: 45 }, async (stage) => {
  const engine = await findEngine(stage);
  await joinSwarm(engine, stage);
  await ensureBaseImage(engine, stage);
  await buildImages(engine, stage);
  const swarm = new Deployment(engine, stage);
  await swarm.demo();
  await swarm.surroundings();
  const load = await swarm.firstStep();
  await swarm.secondStep();
  await swarm.newAuditKey();
  await swarm.newDatabaseLogin();
  await swarm.scale();
  await swarm.rollingUpdate();
  await swarm.brokenImage();
  await swarm.policy();
  const { calls, failed, failures } = await load.stop();
  stage.prove('of all calls during all of this none failed', failed === 0, `${failed} of ${calls}`);
  for (const failure of failures) stage.say(`  ${failure}`);
  await swarm.howReplicasEnded();
  await swarm.reconcile();
});
