import { execFile } from 'node:child_process';
import { type IncomingMessage, type ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { percentile, report, summarise } from '../../../scripts/load/accounting.mjs';
import { openSession, toolFailure } from '../../../scripts/load/mcp-session.mjs';
import { startHttpServer, type TestServer } from '../../support/http-server.js';

const SCRIPT = fileURLToPath(new URL('../../../scripts/load.mjs', import.meta.url));

describe('the percentile', () => {
  it('is the value at int(n · p) of the sorted ones, and the last one at most', () => {
    const ten = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
    expect([0, 0.5, 0.95, 0.99, 1].map((p) => percentile(ten, p))).toEqual([1, 6, 10, 10, 10]);
    expect([0.5, 0.99].map((p) => percentile([7], p))).toEqual([7, 7]);
    expect(percentile([], 0.5)).toBeNaN();
  });

  it('is one of the values and never falls when p rises', () => {
    const values = fc.array(fc.double({ noNaN: true }), { minLength: 1 });
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(values, share, share, (list, p, q) => {
        const sorted = list.toSorted((a, b) => a - b);
        const [low, high] = [percentile(sorted, Math.min(p, q)), percentile(sorted, Math.max(p, q))];
        expect(sorted).toContain(low);
        expect(low).toBeLessThanOrEqual(high);
      }),
    );
  });
});

describe('the accounting', () => {
  const run = { url: 'http://h/mcp', tool: 't', concurrency: 2, elapsedMs: 2000 };

  it('keeps failures out of latency and throughput, however long they took', () => {
    const attempts = [
      { ms: 10 },
      { ms: 60_000, failure: 'no answer' },
      { ms: 30 },
      { ms: 0, failure: 'refused' },
      { ms: 20 },
    ];
    expect(summarise({ ...run, attempts })).toMatchObject({
      ...{ total: 5, succeeded: 3, failed: 2, duration_s: 2, throughput_rps: 1.5 },
      ...{ latency_ms: { p50: 20, p95: 30, p99: 30, max: 30 }, example_error: 'no answer' },
    });
  });

  it("is written in the reference's lines, with the first error where there is one", () => {
    const attempts = [{ ms: 12.34 }, { ms: 9, failure: 'HTTP 503' }];
    expect(report(summarise({ ...run, attempts })).split('\n')).toEqual([
      'URL: http://h/mcp',
      'Tool: t',
      'Concurrencia: 2',
      'Total peticiones: 2',
      'Exitosas: 1',
      'Fallidas: 1',
      'Duración total: 2.00 s',
      'Throughput: 0.5 req/s',
      'Latencia p50: 12.3 ms',
      'Latencia p95: 12.3 ms',
      'Latencia p99: 12.3 ms',
      'Latencia máxima: 12.3 ms',
      'Ejemplo de error: HTTP 503',
      '',
    ]);
  });

  it('has no latency where nothing was answered', () => {
    const summary = summarise({ ...run, attempts: [{ ms: 1, failure: 'x' }] });
    expect(summary.latency_ms).toBeNull();
    expect(report(summary)).toContain('Latencia p99: -\n');
  });
});

interface Rpc {
  readonly id?: number;
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

let server: TestServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

/** A server of MCP as far as a load script sees it. `answer` may answer a request by itself. */
async function serve(answer: (message: Rpc, request: IncomingMessage, response: ServerResponse) => boolean) {
  server = await startHttpServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => (text += part));
    request.on('end', () => {
      if (request.method !== 'POST') return void response.writeHead(405).end();
      const message = JSON.parse(text) as Rpc;
      if (answer(message, request, response)) return;
      if (message.id === undefined) return void response.writeHead(202).end();
      const result = message.method === 'initialize' ? { protocolVersion: '2025-06-18' } : { content: [] };
      reply(response, message, { result });
    });
  });
  return `${server.url}/mcp`;
}

function reply(response: ServerResponse, { id }: Rpc, outcome: object) {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id, ...outcome }));
}

const load = (...args: string[]) =>
  new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
    const child = execFile(process.execPath, [SCRIPT, ...args], (_error, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    );
  });

describe('the load script', () => {
  it('opens one session for each worker, calls one after the other, and ends with 0 when all is answered', async () => {
    const url = await serve(() => false);
    const { code, stdout } = await load('--url', url, '--concurrency', '3', '--requests-per-worker', '4', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ url, tool: 'resumen_cliente', total: 12, succeeded: 12, failed: 0 });
    expect(code).toBe(0);
    // initialize, initialized, four calls
    expect(server?.requests).toHaveLength(3 * 6);
    expect(server?.connections).toBe(3);
    const versions = server?.requests.map(({ headers }) => headers['mcp-protocol-version']);
    expect(versions?.filter((version) => version === '2025-06-18')).toHaveLength(3 * 5);
  });

  it('goes on when a session cannot be opened: that request is a failure, the next one opens it anew', async () => {
    let sessions = 0;
    const url = await serve(({ method }, _request, response) => {
      if (method !== 'initialize' || ++sessions > 1) return false;
      response.writeHead(503).end('busy');
      return true;
    });
    const { code, stdout } = await load('--url', url, '--concurrency', '2', '--requests-per-worker', '5', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ total: 10, succeeded: 9, failed: 1, example_error: 'HTTP 503' });
    expect(code).toBe(1);
  });

  it.each([
    ['a tool error', { result: { isError: true, content: [{ type: 'text', text: 'Saturado.' }] } }, 'Saturado.'],
    [
      'a JSON-RPC error',
      { error: { code: -32602, message: "Unknown tool: 'x'" } },
      "JSON-RPC -32602: Unknown tool: 'x'",
    ],
  ])('counts %s as a failure', async (_what, outcome, text) => {
    let calls = 0;
    const url = await serve((message, _request, response) => {
      if (message.method !== 'tools/call' || ++calls % 2 === 0) return false;
      reply(response, message, outcome);
      return true;
    });
    const { code, stdout } = await load('--url', url, '--concurrency', '1', '--requests-per-worker', '4');
    expect(stdout).toContain('Exitosas: 2\nFallidas: 2\n');
    expect(stdout).toContain(`Ejemplo de error: ${text}\n`);
    expect(code).toBe(1);
  });

  it('counts a connection that breaks, and a server that is not there', async () => {
    let calls = 0;
    const url = await serve(({ method }, request) => {
      if (method !== 'tools/call' || ++calls !== 2) return false;
      request.socket.destroy();
      return true;
    });
    const options = ['--concurrency', '1', '--requests-per-worker', '3', '--json'];
    expect(JSON.parse((await load('--url', url, ...options)).stdout)).toMatchObject({ succeeded: 2, failed: 1 });
    await server?.close();
    const gone = await load('--url', url, ...options);
    expect(JSON.parse(gone.stdout)).toMatchObject({ total: 3, succeeded: 0, failed: 3, latency_ms: null });
    expect(gone.code).toBe(1);
  });

  it('speaks the 2026 era without a session', async () => {
    const url = await serve(() => false);
    const { code } = await load('--url', url, '--era', '2026-07-28', '--tool', 'eco', '--concurrency', '1');
    expect(code).toBe(0);
    expect(server?.requests).toHaveLength(10);
    expect(server?.requests[0]?.headers).toMatchObject({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'eco',
    });
  });

  it.each([
    ['--concurrency', '0'],
    ['--requests-per-worker', 'x'],
    ['--url', 'ftp://h'],
    ['--era', '2024'],
    ['--dsn', 'x'],
  ])('ends with 2 and its usage on %s %s', async (...args) => {
    const { code, stdout, stderr } = await load(...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('npm run load');
  });
});

describe('a session', () => {
  it('reads an answer that comes as an event stream, and sends back the session it was given', async () => {
    const url = await serve((message, _request, response) => {
      if (message.method === 'initialize') response.setHeader('mcp-session-id', 'abc');
      if (message.method !== 'tools/call') return false;
      const data = JSON.stringify({ jsonrpc: '2.0', id: message.id, result: { content: [], isError: true } });
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(
        `: hello\n\nevent: message\ndata: {"jsonrpc":"2.0","method":"x"}\n\nevent: message\ndata: ${data}\n\n`,
      );
      return true;
    });
    const session = await openSession(url);
    expect(toolFailure(await session.call('t', {}))).toBe('isError');
    await session.close();
    expect(server?.requests.map(({ method, headers }) => [method, headers['mcp-session-id']])).toEqual([
      ['POST', undefined],
      ['POST', 'abc'],
      ['POST', 'abc'],
      ['DELETE', 'abc'],
    ]);
  });

  it('waits no longer than it was told', async () => {
    const url = await serve(({ method }) => method === 'tools/call');
    const session = await openSession(url, { timeoutMs: 100 });
    await expect(session.call('t', {})).rejects.toThrow('no answer in 0.1 s');
    session.destroy();
  });
});
