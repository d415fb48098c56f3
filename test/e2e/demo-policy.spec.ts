import { describe, expect, it } from '@jest/globals';
import { legacy } from '../support/mcp-http.js';
import { freePort } from '../../scripts/free-port.mjs';
import { ServerProcess } from '../support/server-process.js';

const DEMO = new URL('../../scripts/demo.mjs', import.meta.url).pathname;

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
