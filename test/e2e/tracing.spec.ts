import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Collector, type ReceivedSpan } from '../support/collector.js';
import { startHttpServer, type TestServer } from '../support/http-server.js';
import { legacy, modern } from '../support/mcp-http.js';
import { ServerProcess } from '../support/server-process.js';
import { createWorld, type World } from '../support/world.js';

const ANA = 'V16760320';
const PARENT = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
const TRACEPARENT = `00-${PARENT.traceId}-${PARENT.spanId}-01`;

let world: World;
let saldos: TestServer;
let collector: Collector;
let server: ServerProcess;
let held: (() => void)[] = [];
let holding = false;
const environment = () => ({
  ...world.env,
  MCP_CORP_SALDO_API__BASE_URL: saldos.url,
  MCP_CORP_SALDO_API__MAX_CONCURRENCY: '1',
  MCP_CORP_SALDO_API__ACQUIRE_TIMEOUT_SECONDS: '5',
  MCP_CORP_SALDO_API__OPERATION_TIMEOUT_SECONDS: '0.5',
  MCP_CORP_SALDO_API__CANCEL_GRACE_SECONDS: '0.1',
});

beforeAll(async () => {
  world = await createWorld();
  collector = await Collector.start();
  saldos = await startHttpServer((request, response) => {
    const cedula = request.url?.split('/').at(-1);
    const answer = () => response.end(JSON.stringify({ cedula, saldo: 10.5, moneda: 'VES' }));
    if (holding && cedula !== 'health') held.push(answer);
    else answer();
  });
  server = await ServerProcess.ready({ ...environment(), MCP_CORP_TRACING__ENDPOINT: collector.url });
});
afterAll(async () => {
  await server.stop();
  await collector.close();
  await saldos.close();
  await world[Symbol.asyncDispose]();
});

const one = (spans: readonly ReceivedSpan[]): ReceivedSpan => {
  expect(spans).toHaveLength(1);
  return spans[0] as ReceivedSpan;
};
const call = (name: string, _meta: object = {}, identificador = ANA, { url } = server) =>
  modern(`${url}/mcp`, 'tools/call', { name, arguments: { identificador }, _meta });

describe('traces', () => {
  it('show a call as the child of the span in its _meta, and what it asks of each source as its children', async () => {
    const reply = await call('resumen_cliente', { traceparent: TRACEPARENT });
    expect(reply.json.result).toMatchObject({ structuredContent: { saldo: { datos: { saldo: 10.5 } } } });
    await collector.until(({ spans }) => spans.some(({ name }) => name === 'tools/call resumen_cliente'));

    const mine = collector.spans.filter(({ traceId }) => traceId === PARENT.traceId);
    const root = one(mine.filter(({ kind }) => kind === 2));
    expect(root).toMatchObject({ name: 'tools/call resumen_cliente', parentSpanId: PARENT.spanId, status: 0 });
    const recorded = () =>
      server.events('tool_invocation_completed').find((line) => line['trace_id'] === PARENT.traceId);
    await server.until(() => recorded() !== undefined);
    const record = recorded();
    expect(root.attributes).toEqual({
      'mcp.method.name': 'tools/call',
      'gen_ai.tool.name': 'resumen_cliente',
      'mcp_corp.result': 'success',
      'mcp_corp.correlation_id': record?.['correlation_id'],
    });

    const children = mine.filter(({ parentSpanId }) => parentSpanId === root.spanId).map(({ name }) => name);
    expect(children.sort()).toEqual(['connect postgres', 'operation postgres', 'operation saldo_api']);
    const operation = one(mine.filter(({ name }) => name === 'operation saldo_api'));
    for (const child of mine.filter((span) => span !== root)) {
      expect(child.start >= root.start && child.end <= root.end).toBe(true);
    }
    // What the source saw is the span of the operation that asked it, so that its own spans are that one's children.
    const asked = saldos.requests.find(({ path }) => path.endsWith(ANA));
    expect(asked?.headers.traceparent).toBe(`00-${PARENT.traceId}-${operation.spanId}-01`);
    expect(collector.resources[0]).toMatchObject({ 'service.name': 'mcp-corp' });
    expect([...collector.paths]).toEqual(['/v1/traces']);
    const lines = server.lines.filter((each) => each['correlation_id'] === record?.['correlation_id']);
    expect(lines.map((line) => line['trace_id'])).toEqual(lines.map(() => PARENT.traceId));
  });

  it('are of a trace of their own when the caller names none that is valid, and the audit has its id', async () => {
    const before = collector.spans.length;
    const recordedBefore = server.events('tool_invocation_completed').length;
    const wrong = [
      undefined,
      'not-a-trace',
      `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
      `ff-${PARENT.traceId}-${PARENT.spanId}-01`,
      `${TRACEPARENT}-más`,
      { traceparent: TRACEPARENT },
      TRACEPARENT.toUpperCase(),
    ];
    for (const traceparent of wrong) await call('consultar_cliente', { traceparent });
    await collector.until(({ spans }) => spans.slice(before).filter(({ kind }) => kind === 2).length === wrong.length);
    const roots = collector.spans.slice(before).filter(({ kind }) => kind === 2);
    const traces = roots.map(({ traceId }) => traceId);
    expect(new Set(traces).size).toBe(wrong.length);
    expect(roots.map(({ parentSpanId }) => parentSpanId)).toEqual(wrong.map(() => undefined));
    const recorded = () => server.events('tool_invocation_completed').slice(recordedBefore);
    await server.until(() => recorded().length === wrong.length);
    expect(
      recorded()
        .map((line) => line['trace_id'])
        .sort(),
    ).toEqual(traces.sort());
  });

  it('show the wait for a slot, the connection of an HTTP source, and how a run failed', async () => {
    const before = collector.spans.length;
    holding = true;
    const [first, second] = await Promise.all([
      call('consultar_saldo', { traceparent: TRACEPARENT }),
      call('consultar_saldo', { traceparent: TRACEPARENT }, 'V16760321'),
    ]);
    holding = false;
    held = [];
    expect([first.json.result['isError'], second.json.result['isError']]).toEqual([true, true]);
    // The destroyed connection of the timeout is replaced by a new one, inside of the operation that needs it.
    expect((await call('consultar_saldo', { traceparent: TRACEPARENT })).json.result['isError']).toBeUndefined();
    await collector.until(({ spans }) => spans.slice(before).filter(({ kind }) => kind === 2).length === 3);
    const seen = collector.spans.slice(before);
    const queue = one(seen.filter(({ name }) => name === 'queue saldo_api'));
    expect(queue.end - queue.start).toBeGreaterThan(100_000_000n);
    const operations = seen.filter(({ name }) => name === 'operation saldo_api');
    expect(operations.map(({ status, attributes }) => [status, attributes['mcp_corp.outcome']])).toEqual([
      [2, 'timeout'],
      [2, 'timeout'],
      [0, 'success'],
    ]);
    const connects = seen.filter(({ name }) => name === 'connect');
    expect(connects.length).toBeGreaterThan(0);
    for (const { parentSpanId } of connects) {
      expect(operations.map(({ spanId }) => spanId)).toContain(parentSpanId);
    }
    const failed = seen.filter(({ kind, status }) => kind === 2 && status === 2);
    expect(failed.map(({ attributes }) => attributes['error.type'])).toEqual(['timeout', 'timeout']);
  });

  it('hold nothing of a caller, of a customer or of a source', async () => {
    const before = collector.spans.length;
    const secret = 'V-12.345.678';
    const forms = ['V16760320', 'v-16.760.320', secret];
    for (const identificador of forms) {
      await call('resumen_cliente', { tracestate: `vendor=${secret}` }, identificador);
      await call(identificador, {}, identificador);
      await modern(`${server.url}/mcp`, 'resources/read', { uri: `clientes://${identificador}` });
      await legacy(`${server.url}/mcp`, 'prompts/get', { name: identificador, arguments: { identificador } });
    }
    await collector.until(({ spans }) => spans.slice(before).filter(({ kind }) => kind === 2).length === 12);
    for (const canary of [
      ...forms,
      '16760320',
      '12345678',
      '12.345.678',
      'Ana',
      'example.com',
      '10.5',
      world.database.name,
    ])
      expect(collector.text).not.toContain(canary);
    const names = new Set(
      collector.spans
        .slice(before)
        .filter(({ kind }) => kind === 2)
        .map(({ name }) => name),
    );
    expect([...names].sort()).toEqual([
      'prompts/get unknown',
      'resources/read unknown',
      'tools/call resumen_cliente',
      'tools/call unknown',
    ]);
  });
});

describe('a collector that takes requests and never answers', () => {
  it('costs no call, and delays the end of the process by less than 2 s', async () => {
    const dead = await Collector.start();
    dead.mood = 'silence';
    const other = await ServerProcess.ready({ ...environment(), MCP_CORP_TRACING__ENDPOINT: dead.url });
    const replies = await Promise.all(Array.from({ length: 60 }, () => call('consultar_cliente', {}, ANA, other)));
    expect(replies.map(({ json }) => json.result['isError'])).toEqual(replies.map(() => undefined));
    await dead.until(() => dead.requests > 0);
    const begun = performance.now();
    expect(await other.stop()).toBe(0);
    expect(performance.now() - begun).toBeLessThan(4_000);
    expect(other.stderr).toBe('');
    await dead.close();
  });
});
