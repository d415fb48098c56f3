import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { legacy, type Reply } from '../support/mcp-http.js';
import { connectV1, connectV2 } from '../support/mcp-clients.js';
import { ServerProcess } from '../support/server-process.js';
import { until } from '../support/until.js';
import { startUpstream, type HttpUpstream, type HttpUpstreamOptions } from '../support/upstreams/http-upstream.js';
import { definitions, newState } from '../support/upstreams/tools.mjs';
import { CHILD, pidFile } from '../unit/connectors/mcp/rig.js';

const CLI = new URL('../../dist/cli/main.js', import.meta.url).pathname;
const NO_NETWORK = new URL('../support/no-network.mjs', import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), 'mcp-corp-upstreams-'));
afterAll(() => rmSync(folder, { recursive: true }));

const cleanups: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

const KEYS = { KEY_ANA: 'llave-de-ana-0123456789', KEY_BETO: 'llave-de-beto-0123456789' };
const SECRET = 'SENTINELA-del-proveedor';
let files = 0;

interface PolicyOptions {
  readonly url?: string;
  readonly child?: object;
  readonly tools?: readonly string[];
  readonly childTools?: readonly string[];
  readonly secret?: string;
  readonly calls?: number;
}

/** Ana may use whatever is mapped; Beto only `eco` of the child. */
function policy({
  url,
  child,
  tools = ['eco', 'cambia', 'lento'],
  childTools = ['eco'],
  secret = 'env://SECRET',
  calls,
}: PolicyOptions): object {
  const mapped = (names: readonly string[], capability: string) => names.map((name) => ({ name, capability }));
  return {
    version: 1,
    capabilities: [{ id: 'remoto.usar' }, { id: 'hijo.usar' }],
    upstreams: [
      ...(url === undefined
        ? []
        : [{ id: 'remoto', transport: { kind: 'mcp-http', url }, tools: mapped(tools, 'remoto.usar') }]),
      ...(child === undefined
        ? []
        : [
            {
              ...{ id: 'hijo', tools: mapped(childTools, 'hijo.usar') },
              transport: { kind: 'mcp-stdio', command: process.execPath, args: [CHILD, JSON.stringify(child)] },
            },
          ]),
    ],
    accounts: [{ id: 'cuenta', secret: { ref: secret } }],
    principals: {
      issuers: ['ana', 'beto'].map((id) => ({
        ...{ id, kind: 'static-key', subject: `persona-${id}`, secret: { ref: `env://KEY_${id.toUpperCase()}` } },
      })),
    },
    grants: [
      {
        ...{ to: { issuer: 'ana' }, capabilities: ['remoto.usar', 'hijo.usar'], using: 'cuenta' },
        ...(calls !== undefined && { limits: { calls, per: '1h' } }),
      },
      { to: { issuer: 'beto' }, capabilities: ['hijo.usar'], using: 'cuenta' },
    ],
  };
}

function written(content: object | string, name = `f${++files}.yaml`): string {
  const path = join(folder, name);
  writeFileSync(path, typeof content === 'string' ? content : stringify(content, { aliasDuplicateObjects: false }));
  return path;
}

async function upstream(options: HttpUpstreamOptions = {}): Promise<HttpUpstream & { mcp: string }> {
  const server = await startUpstream(options);
  cleanups.push(() => server.close());
  return Object.assign(server, { mcp: `${server.url}/mcp` });
}

const env = (file: string, catalog?: string, more: Record<string, string> = {}): Record<string, string> => ({
  ...{ ...KEYS, SECRET, MCP_CORP_GOVERNANCE__MODE: 'policy', MCP_CORP_GOVERNANCE__POLICY: file },
  ...(catalog !== undefined && { MCP_CORP_GOVERNANCE__CATALOG: catalog }),
  ...more,
});

async function serving(variables: Record<string, string>): Promise<ServerProcess> {
  const server = await ServerProcess.ready(variables);
  cleanups.push(() => server.stop());
  return server;
}

const post = ({ url }: ServerProcess, method: string, params: object, key = KEYS.KEY_ANA): Promise<Reply> =>
  legacy(`${url}/mcp`, method, params, { headers: { authorization: `Bearer ${key}` } });
const call = async (server: ServerProcess, name: string, args: object = {}, key?: string) =>
  (await post(server, 'tools/call', { name, arguments: args }, key)).json;
const codeOf = ({ result }: { result: Readonly<Record<string, unknown>> }) =>
  (result['_meta'] as { 'mcp-corp/error'?: { code: string } } | undefined)?.['mcp-corp/error']?.code;
const listed = async (server: ServerProcess, key?: string) =>
  (await post(server, 'tools/list', {}, key)).json.result['tools'] as ({ name: string } & Record<string, unknown>)[];

async function cli(args: readonly string[], cut = false): Promise<{ code: number | null; out: string; err: string }> {
  const node = cut ? ['--import', NO_NETWORK, CLI] : [CLI];
  const child = spawn(process.execPath, [...node, ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, err };
}

/** One periphery as the other: what callers see of an upstream does not depend on how it is reached. */
describe('the journey over both peripheries', () => {
  it('lists, decides, calls and audits tools of a child and of an HTTP server alike, and leaves nothing behind', async () => {
    const remote = await upstream({ state: { pageSize: 2 } });
    const pids = pidFile();
    cleanups.push(() => pids.remove());
    const file = written(policy({ url: remote.mcp, child: { pidFile: pids.path, pageSize: 3 } }));
    const server = await serving(env(file, 'discover'));
    expect(remote.asked.every(({ credential }) => credential === undefined)).toBe(true);
    expect(pids.alive()).toEqual([]);

    const seen = await listed(server);
    expect(seen.map(({ name }) => name)).toEqual(['hijo__eco', 'remoto__cambia', 'remoto__eco', 'remoto__lento']);
    expect((await listed(server, KEYS.KEY_BETO)).map(({ name }) => name)).toEqual(['hijo__eco']);
    const [own, other] = ['hijo__eco', 'remoto__eco'].map((name) => seen.find((tool) => tool.name === name));
    expect(own).toMatchObject({ title: 'Eco', annotations: { readOnlyHint: true }, outputSchema: { type: 'object' } });
    expect({ ...own, name: '' }).toEqual({ ...other, name: '' });

    for (const name of ['hijo__eco', 'remoto__eco']) {
      const { result } = await call(server, name, { texto: 'NO FITS THE PATTERN 123' });
      expect(result['structuredContent']).toEqual({ texto: 'NO FITS THE PATTERN 123', credencial: SECRET });
      expect(codeOf(await call(server, name, { texto: 7 }))).toBe('invalid_arguments');
      expect(codeOf(await call(server, name, {}))).toBe('invalid_arguments');
    }
    expect((await call(server, 'remoto__eco', { texto: 'a' }, KEYS.KEY_BETO)).error.message).toContain('Unknown tool');
    expect((await call(server, 'remoto__muere', {})).error.message).toContain('Unknown tool');
    for (const connect of [connectV1, connectV2]) {
      // The clients send no credential, and are told so in a way that they show.
      const client = await connect(`${server.url}/mcp`);
      await expect(client.listTools()).rejects.toThrow(/credencial/);
      await client.close();
    }

    const ends = () => server.events('tool_invocation_completed').filter(({ tool }) => tool === 'hijo__eco');
    await server.until(() => ends().length === 3);
    const ended = ends();
    expect(ended[0]).toMatchObject({
      ...{ result: 'success', sources: ['hijo'], account: 'cuenta', principal: 'ana:persona-ana' },
      policy_version: expect.stringMatching(/^[0-9a-f]{12}$/),
    });
    for (const { policy_version: version } of server.events('tool_invocation_started'))
      expect(version).toBe(ended[0]?.['policy_version']);
    const health = (await (await fetch(`${server.url}/health`)).json()) as Record<string, unknown>;
    expect(health).toEqual({ ...{ status: 'ok', service: 'mcp-corp' }, policy_version: ended[0]?.['policy_version'] });
    expect(pids.alive()).toHaveLength(1);
    expect(await server.stop()).toBe(0);
    expect(pids.alive()).toEqual([]);
    expect(server.stdout + server.stderr).not.toContain(SECRET);
    expect(server.stdout + server.stderr).not.toContain(remote.url);
  });
});

describe('discovery', () => {
  it('ends the start with 3 when an upstream does not answer, with nothing listening and no child left', async () => {
    const gone = await startUpstream();
    await gone.close();
    const pids = pidFile();
    cleanups.push(() => pids.remove());
    const document = policy({ url: `${gone.url}/mcp`, child: { pidFile: pids.path } }) as { upstreams: object[] };
    document.upstreams.reverse();
    const server = await ServerProcess.spawn(env(written(document), 'discover'));
    expect(await server.exited).toBe(3);
    expect(server.events('upstream_discovery_failed')).toMatchObject([{ upstream: 'remoto', problem: 'unreachable' }]);
    expect(server.events('starting_server')).toEqual([]);
    expect(pids.alive()).toEqual([]);
  });

  it.each([
    ['wants a credential', { accepts: () => false }, 'credential'],
    ['names one tool twice', { state: { more: [{ name: 'eco', inputSchema: { type: 'object' } }] } }, 'unintelligible'],
    ['never ends its list', { state: { pageSize: 0 } }, 'unintelligible'],
  ] as const)('ends the start with 3 when an upstream %s', async (_what, options, problem) => {
    const remote = await upstream(options);
    const server = await ServerProcess.spawn(env(written(policy({ url: remote.mcp })), 'discover'));
    expect(await server.exited).toBe(3);
    expect(server.events('upstream_discovery_failed')).toMatchObject([{ upstream: 'remoto', problem }]);
  });

  it('ends a hanging child, and an orderly stop is one also then', async () => {
    const pids = pidFile();
    cleanups.push(() => pids.remove());
    const file = written(policy({ child: { deaf: true, stubborn: true, pidFile: pids.path } }));
    const hanging = await ServerProcess.spawn(
      env(file, 'discover', { MCP_CORP_UPSTREAMS__CONNECT_TIMEOUT_SECONDS: '2' }),
    );
    expect(await hanging.exited).toBe(3);
    const stopped = await ServerProcess.spawn(env(file, 'discover'));
    await until(() => existsSync(pids.path) && pids.alive().length > 0);
    expect(await stopped.stop()).toBe(0);
    expect(pids.alive()).toEqual([]);
  });

  it('does not let a mapped tool pass whose definition cannot be served, or a mapping without a tool', async () => {
    const bad = { name: 'rara', description: 'a\u200bb', inputSchema: { type: 'object' } };
    const remote = await upstream({ state: { more: [bad] } });
    const unusable = await ServerProcess.spawn(env(written(policy({ url: remote.mcp, tools: ['rara'] })), 'discover'));
    expect(await unusable.exited).toBe(3);
    const missing = await ServerProcess.spawn(env(written(policy({ url: remote.mcp, tools: ['no-hay'] })), 'discover'));
    expect(await missing.exited).toBe(1);
    expect(missing.events('policy_diagnostic')).toContainEqual(
      expect.objectContaining({ code: 'tool_not_in_catalog' }),
    );
  });

  it('is chosen or not, and one of the two must be', async () => {
    const remote = await upstream();
    const file = written(policy({ url: remote.mcp }));
    const neither = await ServerProcess.spawn(env(file));
    expect(await neither.exited).toBe(2);
    expect(neither.events('configuration_error')).toMatchObject([{ variable: 'MCP_CORP_GOVERNANCE__CATALOG' }]);
    expect((await cli(['serve', file, '--discover', '--catalog', file])).code).toBe(2);
    expect(remote.asked).toEqual([]);
  });
});

describe('the declared catalogue', () => {
  it('is written whole by the command, or not at all, and makes the dry run work without a network', async () => {
    const remote = await upstream({ state: { pageSize: 3 } });
    const file = written(policy({ url: remote.mcp, child: {}, tools: ['eco', 'no-hay'] }));
    const made = await cli(['catalog', file, '--out', 'catalogo.yaml']);
    expect({ code: made.code, out: made.out }).toEqual({ code: 0, out: '' });
    const text = readFileSync(join(folder, 'catalogo.yaml'), 'utf8');
    expect((await cli(['catalog', file])).out).toBe(text);
    expect(text.match(/digest: sha256:[0-9a-f]{64}/g)).toHaveLength(2 * definitions(newState()).length);
    expect(text).toContain('name: muere');

    const checked = await cli(['validate', file, '--catalog', 'catalogo.yaml', '--json'], true);
    expect(checked.code).toBe(1);
    expect(checked.out).toContain('tool_not_in_catalog');
    const right = written(policy({ url: remote.mcp, child: {} }));
    expect(
      (await cli(['explain', right, '--issuer', 'ana', '--entry', 'hijo__eco', '--catalog', 'catalogo.yaml'], true))
        .out,
    ).toContain('ALLOWED');
    expect((await cli(['validate', right, '--catalog', 'no-hay.yaml'], true)).code).toBe(3);

    await remote.close();
    const failed = await cli(['catalog', file, '--out', 'otro.yaml']);
    expect({ code: failed.code, out: failed.out }).toEqual({ code: 3, out: '' });
    expect(failed.err).toContain("'remoto' does not answer");
    expect(existsSync(join(folder, 'otro.yaml'))).toBe(false);
  });

  it('serves an upstream that wants a credential to list, also one that is down at the start', async () => {
    const open = await upstream();
    const file = written(policy({ url: open.mcp }));
    expect((await cli(['catalog', file, '--out', 'credencial.yaml'])).code).toBe(0);
    await open.close();
    const server = await serving(
      env(file, join(folder, 'credencial.yaml'), { MCP_CORP_UPSTREAMS__CIRCUIT_RESET_TIMEOUT_SECONDS: '0.2' }),
    );
    expect((await listed(server)).map(({ name }) => name)).toContain('remoto__eco');
    expect(codeOf(await call(server, 'remoto__eco', { texto: 'a' }))).toBe('circuit_open');
    const back = await startUpstream({ port: open.port, accepts: (credential) => credential === SECRET });
    cleanups.push(() => back.close());
    await until(async () => codeOf(await call(server, 'remoto__eco', { texto: 'a' })) === undefined);
    expect((await call(server, 'remoto__eco', { texto: 'b' })).result['structuredContent']).toMatchObject({
      texto: 'b',
    });
  });

  it('pins each definition: what drifted or cannot be used stays listed, and its calls are refused', async () => {
    const hidden = { name: 'oculta', description: 'Suma\u{e0041} dos', inputSchema: { type: 'object' } };
    const remote = await upstream({ state: { more: [hidden] } });
    const file = written(policy({ url: remote.mcp, tools: ['eco', 'cambia', 'lento', 'oculta'], calls: 100 }));
    expect((await cli(['catalog', file, '--out', 'pines.yaml'])).code).toBe(0);
    const catalogue = join(folder, 'pines.yaml');
    writeFileSync(catalogue, readFileSync(catalogue, 'utf8').replace('Responde al rato', 'Responde al momento'));
    const server = await serving(env(file, catalogue, { MCP_CORP_UPSTREAMS__VERIFY_SECONDS: '0' }));
    const tools = await listed(server);
    expect(tools.map(({ name }) => name)).toEqual(['remoto__cambia', 'remoto__eco', 'remoto__lento', 'remoto__oculta']);
    expect(tools.at(-1)?.['description']).toBe('Suma dos');
    expect(codeOf(await call(server, 'remoto__oculta'))).toBe('definition_unusable');
    expect(codeOf(await call(server, 'remoto__lento', { ms: 1 }))).toBe('definition_changed');
    expect(codeOf(await call(server, 'remoto__cambia'))).toBeUndefined();
    expect(codeOf(await call(server, 'remoto__cambia'))).toBe('definition_changed');
    expect(codeOf(await call(server, 'remoto__eco', { texto: 'a' }))).toBeUndefined();
    const { connectors } = (await (await fetch(`${server.url}/diagnostics`)).json()) as {
      connectors: Record<string, unknown>;
    };
    expect(connectors['remoto']).toMatchObject({ definitions: { changed: ['cambia', 'lento'], unusable: ['oculta'] } });
    const reasons = () => server.events('tool_invocation_completed').map(({ reason }) => reason);
    await server.until(() => ['definition_unusable', 'definition_changed'].every((one) => reasons().includes(one)));
  });
});

describe('the limits of an upstream', () => {
  it('are those of any source: beyond the rate a call waits within the acquire timeout, and is then refused', async () => {
    const remote = await upstream();
    const file = written(policy({ url: remote.mcp, tools: ['eco'] }));
    const server = await serving(
      env(file, 'discover', {
        MCP_CORP_UPSTREAMS__RATE_LIMIT_PER_SECOND: '0.01',
        MCP_CORP_UPSTREAMS__RATE_LIMIT_BURST: '2',
        MCP_CORP_UPSTREAMS__ACQUIRE_TIMEOUT_SECONDS: '0.2',
      }),
    );
    const codes = await Promise.all(
      Array.from({ length: 4 }, async () => codeOf(await call(server, 'remoto__eco', { texto: 'a' })) ?? 'success'),
    );
    expect(codes.sort()).toEqual(['rate_limited', 'rate_limited', 'success', 'success']);
    const wrong = await ServerProcess.spawn(env(file, 'discover', { MCP_CORP_UPSTREAMS__RATE_LIMIT_BURST: '2' }));
    expect(await wrong.exited).toBe(2);
    expect(wrong.events('configuration_error')).toMatchObject([{ variable: 'MCP_CORP_UPSTREAMS__RATE_LIMIT_BURST' }]);
  });
});

describe('reload', () => {
  const reloaded = async (server: ServerProcess, event: string): Promise<Readonly<Record<string, unknown>>> => {
    const before = server.events(event).length;
    server.kill('SIGHUP');
    await server.until((one) => one.events(event).length > before);
    return server.events(event).at(-1) ?? {};
  };

  it('swaps policy and declared catalogue whole, says what changes, and a broken file changes nothing', async () => {
    const remote = await upstream();
    const file = written(policy({ url: remote.mcp, tools: ['eco'] }));
    const catalogue = join(folder, 'recarga.yaml');
    expect((await cli(['catalog', file, '--out', catalogue])).code).toBe(0);
    const whole = readFileSync(catalogue, 'utf8');
    const server = await serving(env(file, catalogue));
    const asked = remote.asked.length;
    const first = (await (await fetch(`${server.url}/health`)).json()) as { policy_version: string };
    expect(await reloaded(server, 'policy_reload_unchanged')).toMatchObject({ policy_version: first.policy_version });

    writeFileSync(file, 'version: 1\ngrants: [');
    expect(await reloaded(server, 'policy_reload_refused')).toMatchObject({
      reason: 'errors',
      policy_version: first.policy_version,
    });
    writeFileSync(file, stringify(policy({ url: remote.mcp, tools: ['eco', 'cambia'], calls: 5 })));
    writeFileSync(
      catalogue,
      whole.replace('Devuelve lo que recibe', 'Repite').replace(/(name: eco[\s\S]*?)\n {4}digest: sha256:\w+/, '$1'),
    );
    const said = await reloaded(server, 'policy_reloaded');
    expect(said).toMatchObject({ previous_version: first.policy_version, changes: 1, entries: 1 });
    expect(server.events('policy_change')).toContainEqual(
      expect.objectContaining({
        issuer: 'ana',
        capability: 'remoto.usar',
        after: expect.objectContaining({ calls: ['5/1h'] }),
      }),
    );
    const tools = await listed(server);
    expect(tools.map(({ name, description }) => [name, description])).toEqual([
      ['remoto__cambia', 'Primera versión'],
      ['remoto__eco', 'Repite'],
    ]);
    expect((await call(server, 'remoto__eco', { texto: 'a' })).result['structuredContent']).toMatchObject({
      texto: 'a',
    });
    expect(await (await fetch(`${server.url}/health`)).json()).toMatchObject({
      policy_version: said['policy_version'],
    });
    await server.until(
      () => server.events('tool_invocation_completed').at(-1)?.['policy_version'] === said['policy_version'],
    );

    writeFileSync(file, stringify(policy({ url: remote.mcp, child: {}, tools: ['eco'] })));
    expect(await reloaded(server, 'policy_reload_refused')).toMatchObject({ reason: 'upstreams', upstream: 'hijo' });
    writeFileSync(file, stringify(policy({ url: `${remote.mcp}/otra`, tools: ['eco'] })));
    expect(await reloaded(server, 'policy_reload_refused')).toMatchObject({
      ...{ reason: 'upstreams', upstream: 'remoto' },
      detail: expect.stringContaining('restart'),
    });
    expect(remote.asked.slice(asked).filter(({ credential }) => credential === undefined)).toEqual([]);
    expect((await listed(server)).length).toBe(2);
  });

  it('never discovers, and takes the sessions of a revoked account away', async () => {
    const pids = pidFile();
    cleanups.push(() => pids.remove());
    const document = policy({ child: { pidFile: pids.path } }) as { accounts: { disabled?: boolean }[] };
    const file = written(document);
    const server = await serving(env(file, 'discover'));
    expect(codeOf(await call(server, 'hijo__eco', { texto: 'a' }))).toBeUndefined();
    const spawned = readFileSync(pids.path, 'utf8').trim().split('\n').length;
    expect(pids.alive()).toHaveLength(1);
    writeFileSync(file, stringify({ ...document, accounts: [{ ...document.accounts[0], disabled: true }] }));
    await reloaded(server, 'policy_reloaded');
    expect((await call(server, 'hijo__eco', { texto: 'a' })).error.message).toContain('Unknown tool');
    await until(() => pids.alive().length === 0);
    expect(readFileSync(pids.path, 'utf8').trim().split('\n')).toHaveLength(spawned);
  });

  it('fails no call under load, and each is of one policy', async () => {
    const remote = await upstream();
    const one = stringify(policy({ url: remote.mcp, tools: ['eco'] }));
    const other = stringify(policy({ url: remote.mcp, tools: ['eco', 'lento'] }));
    const file = written(one);
    const server = await serving(env(file, 'discover'));
    const end = performance.now() + 25_000;
    let [calls, failures, reloads] = [0, 0, 0];
    const goesOn = (): boolean => (calls < 100 || reloads < 6) && performance.now() < end;
    const caller = async (): Promise<void> => {
      while (goesOn()) {
        const { result } = await call(server, 'remoto__eco', { texto: 'a' });
        calls += 1;
        if (result?.['structuredContent'] === undefined) failures += 1;
      }
    };
    const hangup = async (): Promise<void> => {
      for (; goesOn(); reloads += 1) {
        writeFileSync(file, reloads % 2 === 0 ? other : one);
        await reloaded(server, 'policy_reloaded');
      }
    };
    await Promise.all([...Array.from({ length: 8 }, caller), hangup()]);
    expect({ failures, enough: calls >= 100 && reloads >= 6 }).toEqual({ failures: 0, enough: true });
    // The answer and the record of a call come by two ways, and either may be here first.
    await server.until(() => server.events('tool_invocation_completed').length === calls);
    const ends = new Map(server.events('tool_invocation_completed').map((line) => [line['correlation_id'], line]));
    for (const { correlation_id: id, policy_version: version } of server.events('tool_invocation_started'))
      expect(ends.get(id)?.['policy_version']).toBe(version);
  });
});
