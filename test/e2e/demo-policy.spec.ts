import { describe, expect, it } from '@jest/globals';
import { legacy } from '../support/mcp-http.js';
import { freePort } from '../../scripts/free-port.mjs';
import { ServerProcess } from '../support/server-process.js';

const DEMO = new URL('../../scripts/demo.mjs', import.meta.url).pathname;
const ROOT = new URL('../../', import.meta.url).pathname;

describe('npm run demo -- --policy', () => {
  it('is governed by the example: the three keys of its banner see what it says of them', async () => {
    const port = await freePort();
    await using demo = await ServerProcess.ready({}, { port, command: [DEMO, '--policy', '--port', String(port)] });
    await demo.until(({ stdout }) => stdout.includes('Ctrl-C'));
    const keys = [...demo.stdout.matchAll(/^ {4}(demo-\w+) +(?:the|a) /gm)].map(([, key = '']) => key);
    expect(keys).toEqual(['demo-atencion', 'demo-caja', 'demo-titular']);
    const post = async (key: string, method: string, params: object) =>
      (await legacy(`${demo.url}/mcp`, method, params, { headers: { authorization: `Bearer ${key}` } })).json.result;
    const summary = async (key: string, identificador: string) =>
      post(key, 'tools/call', { name: 'resumen_cliente', arguments: { identificador } });
    const lists = await Promise.all(
      keys.map(async (key) => ((await post(key, 'tools/list', {}))['tools'] as object[]).length),
    );
    expect(lists).toEqual([2, 3, 3]);
    const [atencion, caja, titular] = await Promise.all(keys.map((key) => summary(key, 'V-16.760.320')));
    expect(JSON.stringify(atencion)).not.toContain('@');
    expect(atencion?.['structuredContent']).toMatchObject({ saldo: { disponible: false } });
    for (const all of [caja, titular]) expect(all?.['structuredContent']).toMatchObject({ resumen_completo: true });
    expect((await summary('demo-titular', 'V16760321'))['isError']).toBe(true);
    expect(await demo.stop()).toBe(0);
  });
});

describe('npm run demo -- --upstreams', () => {
  it('has two MCP servers from npm behind it, one as a child and one over HTTP, and leaves neither behind', async () => {
    const port = await freePort();
    const command = [DEMO, '--upstreams', '--no-postgres', '--no-saldo', '--port', String(port)];
    await using demo = await ServerProcess.ready({}, { port, command, cwd: ROOT });
    const post = async (key: string, method: string, params: object) =>
      (await legacy(`${demo.url}/mcp`, method, params, { headers: { authorization: `Bearer ${key}` } })).json.result;
    const call = (key: string, name: string, args: object) => post(key, 'tools/call', { name, arguments: args });
    const list = async (key: string) =>
      ((await post(key, 'tools/list', {}))['tools'] as { name: string }[]).map(({ name }) => name);
    expect(await list('demo-atencion')).toEqual(['proceso__echo', 'proceso__get-sum']);
    expect(await list('demo-caja')).toEqual(['proceso__echo', 'proceso__get-sum', 'remoto__get-structured-content']);
    const sum = await call('demo-atencion', 'proceso__get-sum', { a: 2, b: 3 });
    expect(sum['content']).toEqual([{ type: 'text', text: 'The sum of 2 and 3 is 5.' }]);
    const data = await call('demo-caja', 'remoto__get-structured-content', { location: 'New York' });
    expect(data['structuredContent']).toMatchObject({ temperature: expect.any(Number) });
    expect(await demo.stop()).toBe(0);
    await expect(fetch('http://127.0.0.1:8931/mcp')).rejects.toThrow();
  });
});
