import { afterEach, describe, expect, it } from '@jest/globals';
import { freePort } from '../../../scripts/free-port.mjs';
import { get } from '../../../scripts/verify-load/loopback.mjs';
import { RoundRobin } from '../../../scripts/verify-load/round-robin.mjs';
import { startHttpServer, type TestServer } from '../../support/http-server.js';
import { until } from '../../support/until.js';

interface Target {
  readonly server: TestServer;
  readonly port: number;
  ready: boolean;
}

const closing: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((each) => each.close()));
});

async function target(name: string): Promise<Target> {
  const server = await startHttpServer((request, response) => {
    if (request.url === '/ready') return void response.writeHead(own.ready ? 200 : 503).end();
    if (request.url === '/stream') return void response.write(`${name} first\n`);
    request.pipe(response.writeHead(200, { 'x-name': name, connection: 'close' }));
  });
  const own: Target = { server, port: server.port, ready: true };
  closing.push(server);
  return own;
}

async function balance(...targets: Target[]): Promise<RoundRobin> {
  const balancer = await RoundRobin.start(targets.map(({ port }) => port));
  closing.push(balancer);
  await until(async () => (await Promise.all(targets.map(({ port }) => balancer.isUp(port)))).every(Boolean));
  return balancer;
}

const nameAt = async (url: string) => (await fetch(url, { method: 'POST', body: 'hola' })).headers.get('x-name');

describe("the project's own balancer", () => {
  it('passes requests on in turn, body and status and headers as they are', async () => {
    const balancer = await balance(await target('a'), await target('b'), await target('c'));
    const names: (string | null)[] = [];
    for (let call = 0; call < 6; call += 1) names.push(await nameAt(balancer.url));
    expect(names.slice(0, 3).toSorted()).toEqual(['a', 'b', 'c']);
    expect(names.slice(3)).toEqual(names.slice(0, 3));
    expect(await (await fetch(balancer.url, { method: 'POST', body: 'hola' })).text()).toBe('hola');
  });

  it('looks away from a target that is not ready, and comes back', async () => {
    const [a, b] = [await target('a'), await target('b')];
    const balancer = await balance(a, b);
    a.ready = false;
    await until(async () => !(await balancer.isUp(a.port)));
    expect([await nameAt(balancer.url), await nameAt(balancer.url)]).toEqual(['b', 'b']);
    a.ready = true;
    await until(() => balancer.isUp(a.port));
    expect([await nameAt(balancer.url), await nameAt(balancer.url)].toSorted()).toEqual(['a', 'b']);
  });

  it('asks the next target when no connection comes about, and says so when there is none', async () => {
    const [a, b] = [await target('a'), await target('b')];
    const balancer = await balance(a, b);
    await a.server.close();
    expect([await nameAt(balancer.url), await nameAt(balancer.url)]).toEqual(['b', 'b']);
    await b.server.close();
    expect((await get(balancer.url)).status).toBe(503);
  });

  it('passes a stream on while it comes', async () => {
    const balancer = await balance(await target('a'));
    const { body } = await fetch(`${balancer.url}/stream`);
    const reader = body?.getReader() as ReadableStreamDefaultReader<Uint8Array> | undefined;
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('a first\n');
    await reader?.cancel();
  });

  it('uses nobody before the first check', async () => {
    const balancer = await RoundRobin.start([await freePort()]);
    closing.push(balancer);
    expect((await get(balancer.url)).status).toBe(503);
  });
});
