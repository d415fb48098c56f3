import { afterEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

let server: Server | undefined;
afterEach(() => void server?.close());

const listen = async (status: number): Promise<number> => {
  server = createServer((request, response) => response.writeHead(request.url === '/health' ? status : 404).end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};

const check = async (env: Record<string, string>): Promise<unknown> => {
  const child = execFile(process.execPath, ['deploy/image/healthcheck.mjs'], { env });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code;
};

describe('HEALTHCHECK of the image', () => {
  it('ends with 0 when /health answers 200 on the configured port', async () => {
    expect(await check({ MCP_CORP_PORT: String(await listen(200)) })).toBe(0);
  });

  it('asks the interface that the server listens on', async () => {
    const port = String(await listen(200));
    expect(await check({ MCP_CORP_PORT: port, MCP_CORP_HOST: '127.0.0.1' })).toBe(0);
    expect(await check({ MCP_CORP_PORT: port, MCP_CORP_HOST: '::1' })).toBe(1);
  });

  it('ends with 1 for any other status, and when nobody answers', async () => {
    const port = String(await listen(503));
    expect(await check({ MCP_CORP_PORT: port })).toBe(1);
    server?.close();
    expect(await check({ MCP_CORP_PORT: port })).toBe(1);
  });
});
