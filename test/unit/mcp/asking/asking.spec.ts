import { Injectable, type Type } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import type { Dialogue } from '../../../../src/mcp/asking/dialogue.js';
import { Form, Questions, ask, sample } from '../../../../src/mcp/asking/questions.js';
import type { McpCall } from '../../../../src/mcp/call.js';
import { compose, missingSettings } from '../../../../src/mcp/composition.js';
import { McpPrompt, McpTool, type AskingPrompt, type AskingTool } from '../../../../src/mcp/decorators.js';
import { HttpSettings } from '../../../../src/mcp/http.settings.js';
import { bootMcp, type McpApp } from '../../../support/mcp-app.js';
import { legacy, modern, type Reply } from '../../../support/mcp-http.js';

const yes = new Form(z.strictObject({ confirma: z.boolean() }));
const options = {
  title: 'Prueba',
  description: 'Pregunta antes de responder.',
  input: z.strictObject({ monto: z.number() }),
  output: z.strictObject({ hecho: z.number(), pasos: z.number() }),
  requires: [],
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  // A question has no payload: an author's own judgement must not meet it.
  outcome: ({ hecho }: { hecho: number }) => (hecho > 100 ? ('partial' as const) : ('success' as const)),
};
interface Input {
  monto: number;
}
interface Output {
  hecho: number;
  pasos: number;
}

@McpTool({ ...options, name: 'atado', asks: 'bound' })
@Injectable()
class Atado implements AskingTool<Input, Output> {
  async call({ monto }: Input, _call: McpCall, dialogue: Dialogue): Promise<Output | Questions> {
    const pasos = Number(dialogue.state ?? 0) + 1;
    const answer = dialogue.accepted('seguro', yes);
    return answer?.confirma === true ? { hecho: monto, pasos } : ask({ seguro: yes.question('¿Seguro?') }, pasos);
  }
}

@McpTool({ ...options, name: 'suelto', asks: 'unbound' })
@Injectable()
class Suelto implements AskingTool<Input, Output> {
  async call({ monto }: Input, _call: McpCall, dialogue: Dialogue): Promise<Output | Questions> {
    const answer = dialogue.accepted('seguro', yes);
    return answer === undefined ? ask({ seguro: yes.question('¿Seguro?') }) : { hecho: monto, pasos: 0 };
  }
}

@McpTool({ ...options, name: 'modelo', asks: 'unbound' })
@Injectable()
class Modelo implements AskingTool<Input, Output> {
  async call(): Promise<Output | Questions> {
    return ask({ seguro: yes.question('¿Seguro?'), opina: sample({ messages: [], maxTokens: 1 }) });
  }
}

@McpTool({ ...options, name: 'sin_permiso' })
@Injectable()
class SinPermiso implements AskingTool<Input, Output> {
  async call(): Promise<Output | Questions> {
    return ask({ seguro: yes.question('¿Seguro?') });
  }
}

@McpPrompt({
  name: 'guion',
  title: 'Guion',
  description: 'Pregunta antes de escribir.',
  input: z.strictObject({}),
  requires: [],
  asks: 'bound',
})
@Injectable()
class Guion implements AskingPrompt<unknown> {
  render(_input: unknown, _call: McpCall, dialogue: Dialogue): string | Questions {
    return dialogue.accepted('seguro', yes) === undefined ? ask({ seguro: yes.question('¿Seguro?') }) : 'Adelante.';
  }
}

const CLASSES: readonly Type[] = [Atado, Suelto, Modelo, SinPermiso, Guion];
const SECRET = 'la clave que comparten las réplicas';
const CAN_ASK = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } };
const ANSWERS = { seguro: { action: 'accept', content: { confirma: true } } };

let server: McpApp;
beforeAll(async () => {
  server = await bootMcp({ classes: CLASSES, http: { stateSecret: SECRET } });
});
afterAll(() => server.close());

interface Round {
  readonly name?: string;
  readonly monto?: number;
  readonly more?: object;
  readonly credential?: string;
  readonly url?: string;
}

function callTool({ name = 'atado', monto = 5, more = {}, credential, url = server.url }: Round = {}): Promise<Reply> {
  const headers = credential === undefined ? {} : { authorization: `Bearer ${credential}` };
  return modern(url, 'tools/call', { name, arguments: { monto }, _meta: CAN_ASK, ...more }, { headers });
}

async function asked(round: Round = {}): Promise<string> {
  const { result } = (await callTool(round)).json;
  return String(result['requestState']);
}

describe('a tool that asks its caller', () => {
  it('answers with its questions, and with its result when they are answered; each round is a call', async () => {
    const first = await callTool();
    expect(first).toMatchObject({
      status: 200,
      json: {
        result: {
          resultType: 'input_required',
          inputRequests: { seguro: { method: 'elicitation/create', params: { mode: 'form', message: '¿Seguro?' } } },
        },
      },
    });
    expect(first.json.result).not.toHaveProperty('content');
    const { call, value } = server.witness.ended.at(-1) ?? {};
    expect(call?.journal.notes).toEqual({ input_required: 'seguro' });
    expect(call?.entry.outcome(value)).toBe('success');
    const more = { inputResponses: ANSWERS, requestState: first.json.result['requestState'] };
    const second = await callTool({ more });
    expect(second.json.result).toMatchObject({
      resultType: 'complete',
      structuredContent: { hecho: 5, pasos: 2 },
    });
    expect(server.witness.ended.at(-1)?.call.journal.notes).toEqual({});
    expect(server.witness.ended.at(-1)?.call.correlationId).not.toBe(call?.correlationId);
  });

  it('is answered by any replica with the same secret, and by none with another', async () => {
    const [same, other] = await Promise.all(
      [SECRET, `${SECRET}.`].map((stateSecret) => bootMcp({ classes: CLASSES, http: { stateSecret } })),
    );
    try {
      const more = { inputResponses: ANSWERS, requestState: await asked() };
      expect((await callTool({ url: same?.url, more })).json.result).toMatchObject({ structuredContent: { hecho: 5 } });
      expect((await callTool({ url: other?.url, more })).json.error).toMatchObject({ code: -32602 });
    } finally {
      await same?.close();
      await other?.close();
    }
  });

  it('keeps what a round left for the next', async () => {
    const no = { seguro: { action: 'accept', content: { confirma: false } } };
    const again = await callTool({ more: { inputResponses: no, requestState: await asked() } });
    const more = { inputResponses: ANSWERS, requestState: again.json.result['requestState'] };
    expect((await callTool({ more })).json.result).toMatchObject({ structuredContent: { pasos: 3 } });
  });

  it.each<[string, Round]>([
    ['with other arguments', { monto: 5000 }],
    ['of another caller', { credential: 'otra' }],
  ])('refuses a state %s, and audits the refusal', async (_whose, round) => {
    const more = { inputResponses: ANSWERS, requestState: await asked() };
    const reply = await callTool({ ...round, more });
    expect(reply.json.error).toMatchObject({ code: -32602, data: { code: 'invalid_request_state' } });
    expect(server.witness.ended.at(-1)).toMatchObject({ error: { code: 'invalid_request_state' } });
  });

  it.each(['x', '', '1.e30.AAAA'])('refuses %j as a state', async (requestState) => {
    const reply = await callTool({ more: { inputResponses: ANSWERS, requestState } });
    expect(reply.json.error).toMatchObject({ code: -32602, data: { code: 'invalid_request_state' } });
  });

  it('sees no answer that comes without a state: nobody can say what it answers', async () => {
    const reply = await callTool({ more: { inputResponses: ANSWERS } });
    expect(reply.json.result).toMatchObject({ resultType: 'input_required' });
  });

  it('asks again when the answers are missing, declined or of another shape', async () => {
    const requestState = await asked();
    for (const inputResponses of [{}, { seguro: { action: 'decline' } }, { seguro: 12 }, { otra: ANSWERS.seguro }]) {
      const reply = await callTool({ more: { inputResponses, requestState } });
      expect(reply.json.result).toMatchObject({ resultType: 'input_required' });
    }
  });

  it('takes answers as data where it says so, and gives out no state then', async () => {
    const first = await callTool({ name: 'suelto' });
    expect(first.json.result).toMatchObject({ resultType: 'input_required' });
    expect(first.json.result).not.toHaveProperty('requestState');
    const second = await callTool({ name: 'suelto', more: { inputResponses: ANSWERS } });
    expect(second.json.result).toMatchObject({ structuredContent: { hecho: 5 } });
  });

  it('is refused where the client does not say that it can answer, with all that is missing', async () => {
    const reply = await callTool({ name: 'modelo' });
    expect(reply).toMatchObject({
      status: 400,
      json: { error: { code: -32021, data: { requiredCapabilities: { sampling: {} } } } },
    });
    expect(server.witness.ended.at(-1)).toMatchObject({ error: { code: 'missing_capability' } });
  });

  it('is told in clear words to a client of the 2025 era', async () => {
    const reply = await legacy(server.url, 'tools/call', { name: 'atado', arguments: { monto: 5 } });
    expect(reply.json.result).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: expect.stringContaining('tu cliente no lo permite') }],
      _meta: { 'mcp-corp/error': { code: 'input_unsupported' } },
    });
    expect(server.witness.ended.at(-1)).toMatchObject({ error: { code: 'input_unsupported' } });
  });

  it('is a bug when it does not declare that it asks', async () => {
    const reply = await callTool({ name: 'sin_permiso' });
    expect(reply.json.result).toMatchObject({ isError: true, content: [{ text: "Error calling tool 'sin_permiso'" }] });
  });
});

describe('a prompt that asks its caller', () => {
  it('does so as a tool does, and is a JSON-RPC error in the 2025 era', async () => {
    const params = { name: 'guion', arguments: {}, _meta: CAN_ASK };
    const first = await modern(server.url, 'prompts/get', params);
    const { requestState } = first.json.result;
    expect(first.json.result).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) });
    const second = await modern(server.url, 'prompts/get', { ...params, inputResponses: ANSWERS, requestState });
    expect(second.json.result).toMatchObject({ messages: [{ role: 'user', content: { text: 'Adelante.' } }] });
    const old = await legacy(server.url, 'prompts/get', { name: 'guion', arguments: {} });
    expect(old.json.error).toMatchObject({ data: { code: 'input_unsupported' } });
  });
});

describe('the key of the states', () => {
  const none = new HttpSettings();
  const set = Object.assign(new HttpSettings(), { stateSecret: SECRET });

  it('must be configured where an entry needs it, and only there', () => {
    const composition = compose(CLASSES, new Set());
    expect(missingSettings(composition, none)).toEqual([
      { variable: 'MCP_CORP_HTTP__STATE_SECRET', problem: expect.stringContaining('atado, guion') },
    ]);
    expect(missingSettings(composition, set)).toEqual([]);
    expect(missingSettings(compose([Suelto, Modelo], new Set()), none)).toEqual([]);
  });

  it('is also missed by the catalogue, whoever brought the entry', async () => {
    await expect(bootMcp({ classes: [Atado] })).rejects.toThrow("tool 'atado': asks 'bound' questions");
  });
});
