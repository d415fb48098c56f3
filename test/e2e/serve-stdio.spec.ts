import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as PipeV2 } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as PipeV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { stringify } from 'yaml';
import type { McpClient } from '../support/mcp-clients.js';
import { CHILD } from '../unit/connectors/mcp/rig.js';

const CLI = new URL('../../dist/cli/main.js', import.meta.url).pathname;
const KEY = 'llave-de-ana-0123456789';
const folder = mkdtempSync(join(tmpdir(), 'mcp-corp-stdio-'));
afterAll(() => rmSync(folder, { recursive: true }));

const POLICY = join(folder, 'policy.yaml');
writeFileSync(
  POLICY,
  stringify({
    version: 1,
    capabilities: [{ id: 'hijo.usar' }],
    upstreams: [
      {
        ...{ id: 'hijo', tools: ['eco', 'espera'].map((name) => ({ name, capability: 'hijo.usar' })) },
        transport: { kind: 'mcp-stdio', command: process.execPath, args: [CHILD, '{}'] },
      },
    ],
    accounts: [{ id: 'cuenta', secret: { ref: 'env://SECRET' } }],
    principals: { issuers: [{ id: 'ana', kind: 'static-key', subject: 'ana', secret: { ref: 'env://KEY_ANA' } }] },
    grants: [{ to: { issuer: 'ana' }, capabilities: ['hijo.usar'], using: 'cuenta' }],
  }),
);
const ARGS = [CLI, 'serve', POLICY, '--discover', '--stdio', '--key-env', 'LA_LLAVE'];
const env = (more: Record<string, string> = {}): Record<string, string> => ({
  ...{ PATH: process.env['PATH'] ?? '', KEY_ANA: KEY, SECRET: 'del-proveedor', LA_LLAVE: KEY },
  ...more,
});
const pipe = (more: Record<string, string> = {}) => ({
  ...{ command: process.execPath, args: ARGS, cwd: folder, env: env(more), stderr: 'pipe' as const },
});

async function clientOf(
  era: 'v1' | 'v2',
  more?: Record<string, string>,
): Promise<McpClient & { stderr: () => string }> {
  let stderr = '';
  const info = { name: 'prueba', version: '1.0.0' };
  const transport = era === 'v1' ? new PipeV1(pipe(more)) : new PipeV2(pipe(more));
  transport.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')));
  const client = era === 'v1' ? new ClientV1(info) : new ClientV2(info, { versionNegotiation: { mode: 'auto' } });
  await client.connect(transport);
  return Object.assign(client as unknown as McpClient, { stderr: () => stderr });
}

describe('serve --stdio', () => {
  it.each(['v1', 'v2'] as const)('serves the %s client under its key, and logs to stderr', async (era) => {
    const client = await clientOf(era);
    expect(client.getServerVersion()?.name).toBe('mcp-corp');
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['hijo__eco', 'hijo__espera']);
    const answer = await client.callTool({ name: 'hijo__eco', arguments: { texto: 'hola' } });
    expect(answer.structuredContent).toEqual({ texto: 'hola', credencial: 'del-proveedor' });
    const many = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        client.callTool({ name: 'hijo__eco', arguments: { texto: `n${index}` } }),
      ),
    );
    expect(many.map(({ structuredContent }) => (structuredContent as { texto: string }).texto)).toEqual(
      Array.from({ length: 20 }, (_, index) => `n${index}`),
    );
    const leaving = new AbortController();
    const options = { signal: leaving.signal };
    // The third argument of the one is the second of the other.
    const left = client.callTool(
      { name: 'hijo__espera', arguments: {} },
      ...(era === 'v1' ? [undefined, options] : [options]),
    );
    setTimeout(() => leaving.abort(), 50);
    await expect(left).rejects.toThrow();
    await client.close();
    expect(client.stderr()).toContain('"message":"tool_invocation_completed"');
    expect(client.stderr()).not.toContain(KEY);
  });

  it('explains a credential that nobody has, or that is missing', async () => {
    const client = await clientOf('v1', { LA_LLAVE: 'otra' });
    await expect(client.listTools()).rejects.toThrow(/credencial/);
    await client.close();
    const nobody = await clientOf('v1', { LA_LLAVE: '' });
    await expect(nobody.listTools()).rejects.toThrow(/Falta la credencial/);
    await nobody.close();
  });

  it('ends with its client, in order, writes nothing but the protocol to stdout, and leaves no child', async () => {
    const server = spawn(process.execPath, ARGS, { cwd: folder, env: env(), stdio: ['pipe', 'pipe', 'pipe'] });
    let [out, err] = ['', ''];
    server.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    server.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
    const send = (message: object): void =>
      void server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    send({
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } },
    });
    send({ method: 'notifications/initialized' });
    send({ id: 2, method: 'tools/call', params: { name: 'hijo__eco', arguments: { texto: 'a' } } });
    server.stdin.write('no es json\n');
    while (!out.includes('"id":2')) await once(server.stdout, 'data');
    server.stdin.end();
    const [code] = (await once(server, 'close')) as [number];
    expect(code).toBe(0);
    const lines = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.every(({ jsonrpc }) => jsonrpc === '2.0')).toBe(true);
    expect(lines.map(({ id }) => id).sort()).toEqual([1, 2, null]);
    expect(
      err
        .trim()
        .split('\n')
        .every((line) => line.startsWith('{')),
    ).toBe(true);
    expect(err).toContain('"message":"shutdown_complete"');
  });
});
