import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { bootMcp, type McpApp } from '../../../support/mcp-app.js';
import { legacy, send, type Sent } from '../../../support/mcp-http.js';

let server: McpApp;
beforeAll(async () => {
  server = await bootMcp({ http: { allowedOrigins: ['https://a.example'] } });
  // As the product does.
  server.app.disable('x-powered-by');
});
afterAll(() => server.close());

const JSON_TYPE = { 'content-type': 'application/json' };
const ECO = { name: 'eco', arguments: { texto: 'a' } };

describe('the front door', () => {
  it.each(['', '?a=1', '/', '/?a=1'])('serves /mcp%s', async (rest) => {
    expect((await legacy(`${server.url}${rest}`, 'tools/call', ECO)).json.result).toMatchObject({
      structuredContent: { texto: 'a' },
    });
  });

  it.each<[string, Sent]>([
    ['a GET', { method: 'GET' }],
    ['a foreign host', { headers: { ...JSON_TYPE, host: 'ajeno.example' }, body: '{}' }],
    ['a foreign origin', { headers: { ...JSON_TYPE, origin: 'https://b.example' }, body: '{}' }],
    ['a preflight', { method: 'OPTIONS', headers: { origin: 'https://a.example' } }],
    ['a body that is not JSON', { headers: { ...JSON_TYPE, origin: 'https://a.example' }, body: '{' }],
    ['another media type', { headers: { 'content-type': 'text/plain' }, body: '{}' }],
    ['too large a body', { headers: JSON_TYPE, body: 'x'.repeat(1_048_577) }],
  ])('answers %s as the router behind it does', async (_what, sent) => {
    const [ahead, behind] = [await send(server.url, sent), await send(`${server.url}/`, sent)];
    const { date: _1, ...headers } = ahead.headers;
    const { date: _2, ...expected } = behind.headers;
    expect({ ...ahead, headers }).toEqual({ ...behind, headers: expected });
  });

  it('leaves every other path to the router', async () => {
    const root = server.url.slice(0, -'/mcp'.length);
    for (const path of ['/', '/mcpx', '/mcp/otra', '/x/mcp']) expect((await send(root + path)).status).toBe(404);
  });
});
