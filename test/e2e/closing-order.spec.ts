import { expect, it } from '@jest/globals';
import { freePort } from '../../scripts/free-port.mjs';
import { Collector } from '../support/collector.js';
import { startHttpServer } from '../support/http-server.js';
import { modern } from '../support/mcp-http.js';
import { ServerProcess } from '../support/server-process.js';
import { until } from '../support/until.js';

/** Architecture §8: sources, then metrics and traces, then the audit. What is closed too early cannot tell of what still happens. */
it('closes the sources, then metrics and traces, then the audit', async () => {
  const collector = await Collector.start();
  let release: (() => void) | undefined;
  const source = await startHttpServer((request, response) => {
    const cedula = request.url?.split('/').at(-1);
    const answer = () => response.end(JSON.stringify({ cedula, saldo: 10.5, moneda: 'VES' }));
    if (cedula === 'health') answer();
    else release = answer;
  });
  const port = await freePort();
  const server = await ServerProcess.ready({
    MCP_CORP_SALDO_API__ENABLED: 'true',
    MCP_CORP_SALDO_API__BASE_URL: source.url,
    MCP_CORP_METRICS__PORT: String(port),
    MCP_CORP_TRACING__ENDPOINT: collector.url,
  });
  const metrics = async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const call = modern(`${server.url}/mcp`, 'tools/call', {
    name: 'consultar_saldo',
    arguments: { identificador: 'V16760320' },
  });
  await until(() => release !== undefined);
  server.kill('SIGTERM');
  await server.until(({ stdout }) => stdout.includes('shutdown_initiated'));
  await until(async () => (await fetch(`${server.url}/health`).catch(() => undefined)) === undefined);
  // The service's port is closed and the call still runs: what a monitor sees of it goes on.
  expect(await metrics()).toContain('mcp_corp_source_in_flight{source="saldo_api"} 1');

  // The collector takes the last spans and does not answer: traces are being closed for as long as they may be.
  collector.mood = 'silence';
  const asked = collector.requests;
  release?.();
  expect((await call).json.result).toMatchObject({ structuredContent: { saldo: 10.5 } });
  await source.idle();
  const sourceClosed = performance.now();
  await until(() => collector.requests > asked);
  expect(server.child.exitCode).toBeNull();
  expect(server.stdout).not.toContain('shutdown_complete');
  await expect(metrics()).rejects.toThrow();

  expect(await server.exited).toBe(0);
  // The patience with the collector lies between the two.
  expect(performance.now() - sourceClosed).toBeGreaterThan(500);
  expect(collector.text).toContain('tools/call consultar_saldo');
  const messages = server.lines.map(({ message }) => message);
  expect(messages.at(-1)).toBe('shutdown_complete');
  expect(messages.filter((message) => message === 'tool_invocation_completed')).toHaveLength(1);
  await Promise.all([collector.close(), source.close()]);
});
