import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { JsonLogger } from '../../../../src/logging/json-logger.js';
import { Catalogue } from '../../../../src/mcp/catalogue.js';
import { StdioServing } from '../../../../src/mcp/protocol/stdio-serving.js';
import { bootMcp, type McpApp } from '../../../support/mcp-app.js';
import { Colgado } from '../../../support/mcp-fixtures.js';
import { until } from '../../../support/until.js';

type Message = Readonly<Record<string, unknown>>;

let server: McpApp;
beforeAll(async () => {
  server = await bootMcp();
});
afterAll(() => server.close());

const logged: string[] = [];
const sink = {
  write: (line: string) => logged.push(line) > 0,
  unwrittenBytes: 0,
  failure: undefined,
  flush: () => Promise.resolve(true),
};
const log = new JsonLogger({
  ...{ sink, level: 'DEBUG', service: 'prueba', version: '0', environment: 'local' },
}).eventLog('prueba');

/** One client on a pipe: what it writes, and the lines that it is written. */
function client(credential: () => string = () => '') {
  const [input, output] = [new PassThrough(), new PassThrough()];
  let text = '';
  output.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  const leave = new AbortController();
  const serving = new StdioServing({
    ...{ serviceName: 'servidor-de-prueba', catalogue: server.get(Catalogue), gate: server.gate, log },
    ...{ input, output, credential, maxBytes: 100_000 },
  });
  const served = serving.serve(leave.signal);
  const answers = () =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Message & { readonly id: unknown; readonly error?: { code: number } });
  return {
    send: (message: unknown) => void input.write(`${JSON.stringify(message)}\n`),
    write: (line: string) => void input.write(line),
    answers,
    answered: (count: number) => until(() => answers().length >= count),
    close: async () => {
      input.end();
      await served;
      await server.gate.idle();
    },
  };
}

const ping = (id: unknown) => ({ jsonrpc: '2.0', id, method: 'ping' });

describe('a client on a pipe', () => {
  beforeEach(() => void logged.splice(0));

  it('is told of what is no request, by its id where it has one, and is served on', async () => {
    const pipe = client();
    const wrong = [
      [ping(1), ping(2)],
      7,
      null,
      'ping',
      {},
      { jsonrpc: '2.0', id: 3 },
      { id: 4, method: 5 },
      ping(null),
      ping({}),
    ];
    for (const message of wrong) pipe.send(message);
    pipe.write('no es json\n');
    pipe.send(ping('última'));
    await pipe.answered(wrong.length + 2);
    const told = pipe.answers();
    expect(told.slice(0, -1).map(({ id, error }) => [id, error?.code])).toEqual([
      ...[null, null, null, null, null, 3, 4, null, null].map((id) => [id, -32_600]),
      [null, -32_700],
    ]);
    expect(told.at(-1)).toEqual({ jsonrpc: '2.0', id: 'última', result: {} });
    await pipe.close();
  });

  it('is answered nothing to what asks nothing: notifications, and answers to questions that nobody put', async () => {
    const pipe = client();
    pipe.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    pipe.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'nadie' } });
    pipe.send({ jsonrpc: '2.0', id: 1, result: {} });
    pipe.send({ jsonrpc: '2.0', id: 2, error: { code: 1, message: 'no' } });
    pipe.send(ping(3));
    await pipe.answered(1);
    expect(pipe.answers().map(({ id }) => id)).toEqual([3]);
    await pipe.close();
  });

  it('cannot have two requests of one id at a time', async () => {
    const pipe = client();
    pipe.write(`${JSON.stringify(ping(1))}\n${JSON.stringify(ping(1))}\n`);
    await pipe.answered(2);
    expect(pipe.answers().map(({ id, error }) => [id, error?.code])).toEqual([
      [1, -32_600],
      [1, undefined],
    ]);
    pipe.send(ping(1));
    await pipe.answered(3);
    expect(pipe.answers().at(-1)).toMatchObject({ id: 1, result: {} });
    await pipe.close();
  });

  it('is not given the answer of a cancelled request for that of another with its id', async () => {
    const pipe = client();
    const tool = server.get(Colgado);
    const hanging = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'colgado', arguments: {} } };
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
    pipe.send(hanging);
    await until(() => tool.reached.length === 1);
    pipe.write([cancel, hanging].map((message) => `${JSON.stringify(message)}\n`).join(''));
    await until(() => tool.reached.length === 2 && server.gate.inFlight === 1);
    pipe.send(ping(2));
    await pipe.answered(1);
    expect(pipe.answers().map(({ id }) => id)).toEqual([2]);
    pipe.send(cancel);
    await pipe.close();
  });

  it('is told of a fault, which keeps neither the request nor its place', async () => {
    let broken = true;
    const pipe = client(() => {
      if (broken) throw new Error('SENTINELA: no hay llave');
      return '';
    });
    pipe.send(ping(1));
    await pipe.answered(1);
    expect(pipe.answers()).toEqual([{ jsonrpc: '2.0', id: 1, error: { code: -32_603, message: 'Internal error' } }]);
    expect(server.gate.inFlight).toBe(0);
    expect(logged.map((line) => (JSON.parse(line) as Message)['message'])).toEqual(['unexpected_error']);
    broken = false;
    pipe.send(ping(1));
    await pipe.answered(2);
    expect(pipe.answers().at(-1)).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
    await pipe.close();
  });

  it('is answered once for each request and for each thing that is none, whatever it writes', async () => {
    const id = fc.oneof(fc.constant(undefined), fc.constant(null), fc.nat(3), fc.string(), fc.object({ maxDepth: 1 }));
    const member = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant(undefined));
    const method = fc.oneof(
      fc.constantFrom(
        'ping',
        'tools/list',
        'tools/call',
        'initialize',
        'resources/read',
        'prompts/get',
        'subscriptions/listen',
      ),
      fc.constantFrom('notifications/cancelled', 'no/existe', '__proto__', ''),
      member,
    );
    const envelope = fc.constantFrom(
      {},
      { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' },
      { 'io.modelcontextprotocol/protocolVersion': 7 },
    );
    const params = fc.oneof(
      member,
      fc.record(
        { name: member, uri: member, arguments: member, requestId: fc.nat(3), _meta: envelope },
        { requiredKeys: [] },
      ),
    );
    const message = fc.oneof(
      {
        weight: 5,
        arbitrary: fc.record(
          { jsonrpc: fc.constantFrom('2.0', '1.0'), id, method, params },
          { requiredKeys: ['method'] },
        ),
      },
      { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 1 }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 8 }), async (messages) => {
        const pipe = client();
        // As they will be read.
        const read = messages.map((each) => JSON.parse(JSON.stringify(each)) as unknown);
        let due = 0;
        for (const each of read) {
          const {
            id: given,
            method: asked,
            ...rest
          } = (typeof each === 'object' && each !== null ? each : {}) as Message;
          const isAnswer = asked === undefined && !Array.isArray(each) && ('result' in rest || 'error' in rest);
          if (isAnswer || (typeof asked === 'string' && given === undefined)) {
            pipe.send(each);
            continue;
          }
          due += 1;
          pipe.send(each);
          await pipe.answered(due);
        }
        pipe.send(ping('fin'));
        await pipe.answered(due + 1);
        expect(pipe.answers()).toHaveLength(due + 1);
        expect(pipe.answers().every(({ jsonrpc }) => jsonrpc === '2.0')).toBe(true);
        await pipe.close();
        expect(server.gate.inFlight).toBe(0);
      }),
      { numRuns: 150 },
    );
  });
});
