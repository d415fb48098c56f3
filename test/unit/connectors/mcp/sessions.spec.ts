import { afterEach, describe, expect, it } from '@jest/globals';
import { digestOf } from '../../../../src/connectors/mcp/tool-definition.js';
import { until } from '../../../support/until.js';
import {
  startUpstream,
  type HttpUpstream,
  type HttpUpstreamOptions,
} from '../../../support/upstreams/http-upstream.js';
import { definitions, newState } from '../../../support/upstreams/tools.mjs';
import { childTransport, pidFile, rig, structured, type Rig, type RigOptions } from './rig.js';

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

async function overHttp(
  options: HttpUpstreamOptions = {},
  more: RigOptions = {},
): Promise<Rig & { upstream: HttpUpstream }> {
  const upstream = await startUpstream(options);
  cleanups.push(() => upstream.close());
  const made = rig({ kind: 'mcp-http', url: `${upstream.url}/mcp` }, more);
  cleanups.push(() => made.close());
  return { ...made, upstream };
}

function overPipe(options: object = {}, more: RigOptions = {}): Rig & { alive: () => number[] } {
  const pids = pidFile();
  cleanups.push(() => pids.remove());
  const made = rig(childTransport({ ...options, pidFile: pids.path }), more);
  cleanups.push(() => made.close());
  return { ...made, alive: () => pids.alive() };
}

const code = (error: unknown): unknown => (error as { code?: unknown }).code;
const failed = (promise: Promise<unknown>): Promise<unknown> => promise.then(() => 'answered', code);
const pinOf = (name: string): string =>
  digestOf(definitions(newState()).find((one) => (one as { name: string }).name === name) as never);

describe.each(['modern', 'sessions'] as const)('an upstream over HTTP (%s)', (era) => {
  it('is called with the credential of each account, and its result passes through unchanged but for _meta', async () => {
    const { result } = await overHttp({ era });
    expect(await result('eco', { texto: 'hola' }, { secret: 'uno' })).toEqual({
      content: [{ type: 'text', text: '{"texto":"hola","credencial":"uno"}' }],
      structuredContent: { texto: 'hola', credencial: 'uno' },
    });
    expect(structured(await result('eco', { texto: 'b' }, { account: 'otra', secret: 'dos' }))['credencial']).toBe(
      'dos',
    );
    expect(await result('falla')).toEqual({ content: [{ type: 'text', text: 'no pudo ser' }], isError: true });
  });

  it('gets a rotated credential with the next call, also on an open session of the same epoch', async () => {
    const { result, connector } = await overHttp({ era });
    await result('eco', { texto: 'a' }, { secret: 'viejo' });
    expect(structured(await result('eco', { texto: 'b' }, { secret: 'nuevo' }))['credencial']).toBe('nuevo');
    expect(structured(await result('eco', { texto: 'c' }, { secret: 'fresco', epoch: 'nuevo' }))['credencial']).toBe(
      'fresco',
    );
    await until(() => connector.stats()['sessions'] === 1);
  });

  it('keeps the neighbours of a call that is cancelled or killed', async () => {
    const { call, result, upstream } = await overHttp({ era }, { operationTimeoutMs: 2_500 });
    await result('eco', { texto: 'a' });
    const neighbour = result('lento', { ms: 700 });
    const leaving = new AbortController();
    const left = failed(call('espera', {}, { signal: leaving.signal }));
    const late = failed(call('espera'));
    await until(() => upstream.state.calls === 4);
    leaving.abort(Object.assign(new Error('se fue'), { code: 'left' }));
    expect(await left).toBe('left');
    expect(structured(await neighbour)).toEqual({ listo: true });
    expect(await late).toBe('timeout');
    expect(structured(await result('eco', { texto: 'a' }))['texto']).toBe('a');
    expect(upstream.asked.filter(({ method }) => method === 'initialize').length).toBe(era === 'modern' ? 0 : 1);
  });

  it('is never sent a call twice: not after a lost connection, not after a refusal', async () => {
    const { call, upstream } = await overHttp({ era });
    expect(await failed(call('muere'))).toBe('unavailable');
    expect(upstream.state.calls).toBe(1);
    upstream.status = 503;
    expect(await failed(call('eco', { texto: 'a' }))).toBe('unavailable');
    upstream.status = undefined;
    const sent = upstream.asked.filter(({ method }) => method === 'tools/call').length;
    expect(sent).toBeLessThanOrEqual(2);
  });

  it('is found again after a restart', async () => {
    const { result, call, upstream } = await overHttp({ era });
    await result('eco', { texto: 'a' });
    await upstream.close();
    expect(await failed(call('eco', { texto: 'b' }))).toBe('unavailable');
    const again = await startUpstream({ era, port: upstream.port });
    cleanups.push(() => again.close());
    // With sessions the first call learns that the session is gone; it was not run, and it is not sent again.
    await failed(call('eco', { texto: 'c' }));
    expect(structured(await result('eco', { texto: 'd' }))['texto']).toBe('d');
  });

  it('is refused an account, and no other, whose credential it does not accept', async () => {
    const { call, result, upstream, log } = await overHttp({ era, accepts: (credential) => credential !== 'mala' });
    expect(await failed(call('eco', { texto: 'a' }, { account: 'otra', secret: 'mala' }))).toBe('rejected');
    const asked = upstream.asked.length;
    expect(await failed(call('eco', { texto: 'a' }, { account: 'otra', secret: 'mala' }))).toBe('rejected');
    expect(upstream.asked.length).toBe(asked);
    expect(structured(await result('eco', { texto: 'a' }, { secret: 'buena' }))['texto']).toBe('a');
    expect(log.named('connector_account_refused')).toHaveLength(1);
    expect(await failed(call('eco', {}, { account: 'tercera', secret: 'con\nsalto' }))).toBe('rejected');
  });

  it('maps what it answers to the stable codes, and repeats none of its texts', async () => {
    const { call, log, result } = await overHttp({ era }, { maxBytes: 20_000 });
    expect(await failed(call('lanza'))).toBe('rejected');
    expect(await failed(call('grande', { bytes: 30_000 }))).toBe('unavailable');
    expect(structured(await result('eco', { texto: 'a' }))['texto']).toBe('a');
    expect(JSON.stringify(log.lines)).not.toContain('secreto');
  });

  it('is asked for its tools once while a pin is believed, and a changed one is not called', async () => {
    const { call, result, upstream } = await overHttp({ era, state: { pageSize: 2 } }, { verifyMs: 0 });
    const pin = pinOf('cambia');
    expect((await call('cambia', {}, { pin })).kind).toBe('result');
    const { calls } = upstream.state;
    expect((await call('cambia', {}, { pin })).kind).toBe('changed');
    expect((await call('eco', { texto: 'a' }, { pin: pinOf('eco') })).kind).toBe('result');
    expect((await call('no_existe', {}, { pin })).kind).toBe('changed');
    expect(upstream.state.calls).toBe(calls + 1);
    await result('eco', { texto: 'sin pin' });
  });
});

describe('an upstream over HTTP that does not answer', () => {
  it('is asked for its tools again when another process may answer now', async () => {
    const { call, upstream } = await overHttp();
    const pin = pinOf('cambia');
    const port = upstream.port;
    expect((await call('eco', { texto: 'a' }, { pin: pinOf('eco') })).kind).toBe('result');
    await upstream.close();
    const again = await startUpstream({ port, state: { description: 'Otra versión' } });
    cleanups.push(() => again.close());
    // The first may only learn that the connection is gone.
    await failed(call('eco', { texto: 'b' }));
    expect((await call('cambia', {}, { pin })).kind).toBe('changed');
    expect(again.state.description).toBe('Otra versión');
  });

  it('is not passed on when its answer is nested so deeply that nobody could serialise it', async () => {
    const { call, result } = await overHttp();
    expect(await result('hondo', { niveles: 100 })).toHaveProperty('structuredContent.dentro');
    expect(await failed(call('hondo', { niveles: 400 }))).toBe('unavailable');
    expect(structured(await result('eco', { texto: 'a' }))['texto']).toBe('a');
  });

  it('is unavailable when it is silent, for as long as it is', async () => {
    const { call, result, upstream, connector } = await overHttp({}, { operationTimeoutMs: 500 });
    upstream.silent = true;
    expect(await failed(call('eco', { texto: 'a' }))).toBe('timeout');
    await until(() => connector.stats()['sessions'] === 0);
    upstream.silent = false;
    expect(structured(await result('eco', { texto: 'b' }))['texto']).toBe('b');
  });

  it('is healthy when it answers HTTP, whatever it answers without a credential', async () => {
    const { connector, upstream } = await overHttp({ accepts: () => false });
    const { signal } = new AbortController();
    expect(await connector.health(signal)).toBe(true);
    upstream.status = 500;
    expect(await connector.health(signal)).toBe(false);
    await upstream.close();
    expect(await connector.health(signal)).toBe(false);
    await expect(connector.connect(signal)).rejects.toMatchObject({ code: 'UNREACHABLE' });
  });
});

describe('an upstream over stdio', () => {
  it('is a child with PATH and its credential and nothing else', async () => {
    const { result } = overPipe();
    const { nombres, credencial } = structured(await result('entorno', {}, { secret: 'uno' }));
    expect(credencial).toBe('uno');
    const own = (nombres as string[]).filter((name) => !name.startsWith('__CF'));
    expect(own).toEqual(['MCP_UPSTREAM_CREDENTIAL', 'PATH']);
  });

  it('has one child per account and credential, shared by its calls', async () => {
    const { result, alive, connector } = overPipe();
    await Promise.all([result('eco', { texto: 'a' }), result('eco', { texto: 'b' }), result('eco', { texto: 'c' })]);
    expect(alive()).toHaveLength(1);
    await result('eco', { texto: 'a' }, { account: 'otra' });
    expect(alive()).toHaveLength(2);
    expect(structured(await result('eco', { texto: 'd' }, { secret: 'nuevo' }))['credencial']).toBe('nuevo');
    await until(() => alive().length === 2);
    expect(connector.stats()).toEqual({ sessions: 2, sessions_in_use: 0 });
  });

  it('leaves no child behind: neither one that ignores SIGTERM nor the children of a child', async () => {
    const { result, close, alive } = overPipe({ stubborn: true, grandchild: true });
    await result('eco', { texto: 'a' });
    expect(alive()).toHaveLength(2);
    await close();
    expect(alive()).toEqual([]);
  });

  it('has a new child after the old one died, and takes a dead one from nobody but its own calls', async () => {
    const { call, result, alive, connector } = overPipe();
    const before = structured(await result('eco', { texto: 'a' }));
    expect(await failed(call('muere'))).toBe('unavailable');
    expect(structured(await result('eco', { texto: 'a' }))).toEqual(before);
    const [pid] = alive();
    process.kill(Number(pid), 'SIGKILL');
    await until(() => connector.stats()['sessions'] === 0);
    expect(structured(await result('eco', { texto: 'b' }))['texto']).toBe('b');
  });

  it('keeps the neighbours of a call that is killed', async () => {
    const { call, result, alive } = overPipe({}, { operationTimeoutMs: 4_000 });
    await result('eco', { texto: 'a' });
    const late = failed(call('espera'));
    const neighbour = result('lento', { ms: 2_500 });
    expect(structured(await neighbour)).toEqual({ listo: true });
    expect(await late).toBe('timeout');
    expect(structured(await result('eco', { texto: 'b' }))['texto']).toBe('b');
    expect(alive()).toHaveLength(1);
  });

  it('drops one answer that is too large, and not the session', async () => {
    const { call, result, alive } = overPipe();
    const neighbour = result('lento', { ms: 300 });
    expect(await failed(call('grande', { bytes: 200_000 }))).toBe('unavailable');
    expect(structured(await neighbour)).toEqual({ listo: true });
    expect(alive()).toHaveLength(1);
  });

  it('is greeted the old way when it dies of the new one', async () => {
    const { result } = overPipe({ touchy: true });
    expect(structured(await result('eco', { texto: 'a' }))['texto']).toBe('a');
  });

  it('is unavailable when its program is not there, and unhealthy', async () => {
    const made = rig({ kind: 'mcp-stdio', command: 'no-existe-este-programa' });
    cleanups.push(() => made.close());
    expect(await failed(made.call('eco'))).toBe('unavailable');
    expect(await made.connector.health(new AbortController().signal)).toBe(false);
    expect(made.log.named('connector_infrastructure_failure')[0]?.cause).toMatchObject({ code: 'ENOENT' });
  });

  it('says that its tools changed, and the pinned one is not called any more', async () => {
    const { call } = overPipe();
    const pin = pinOf('cambia');
    expect((await call('cambia', {}, { pin })).kind).toBe('result');
    expect((await call('cambia', {}, { pin })).kind).toBe('changed');
  });

  it('is closed when nobody has used it for a while', async () => {
    const { result, connector, alive } = overPipe({}, { idleMs: 150 });
    await result('eco', { texto: 'a' });
    await until(() => connector.stats()['sessions'] === 0);
    expect(alive()).toEqual([]);
  });

  it('never has more sessions than it may: one that nobody uses makes room, and one that is used does not', async () => {
    const { result, call, connector, alive } = overPipe({}, { maxSessions: 2 });
    const held = ['uno', 'dos'].map((account) => result('lento', { ms: 2_000 }, { account }));
    await until(() => connector.stats()['sessions_in_use'] === 2);
    expect(await failed(call('eco', { texto: 'a' }, { account: 'tres' }))).toBe('saturated');
    await Promise.all(held);
    expect(structured(await result('eco', { texto: 'a' }, { account: 'tres' }))['texto']).toBe('a');
    await until(() => connector.stats()['sessions'] === 2 && alive().length === 2);
  });

  it('is closed to an account that is gone, and to no other', async () => {
    const { result, connector, alive } = overPipe();
    for (const account of ['uno', 'dos']) await result('eco', { texto: 'a' }, { account });
    const both = alive();
    expect(both).toHaveLength(2);
    connector.retain((account) => account !== 'uno');
    await until(() => alive().length === 1);
    await result('eco', { texto: 'b' }, { account: 'dos' });
    expect(both).toEqual(expect.arrayContaining(alive()));
  });

  it('gets no more calls when it has left one unanswered and gives no sign of life', async () => {
    const { result, call, alive } = overPipe({}, { operationTimeoutMs: 3_000 });
    await result('eco', { texto: 'a' });
    const [frozen = 0] = alive();
    process.kill(frozen, 'SIGSTOP');
    expect(await failed(call('eco', { texto: 'b' }))).toBe('timeout');
    await until(() => !alive().includes(frozen), 20_000);
    expect(structured(await result('eco', { texto: 'c' }))['texto']).toBe('c');
  });
});
