import { afterEach, describe, expect, it } from '@jest/globals';
import type { CallHandler, ExecutionContext } from '@nestjs/common';
import type { McpCall } from '../../../src/mcp/call.js';
import type { CallStep } from '../../../src/mcp/call-step.js';
import { callContext } from '../../../src/logging/call-context.js';
import { CallError } from '../../../src/mcp/errors.js';
import type { Result } from '../../../src/mcp/results.js';
import { bootMcp, type McpApp, type Witness } from '../../support/mcp-app.js';
import { legacy } from '../../support/mcp-http.js';

let server: McpApp;
afterEach(() => server.close());

class Step implements CallStep {
  constructor(
    private readonly name: string,
    private readonly order: string[],
    private readonly refusal?: Error,
  ) {}

  intercept(_context: ExecutionContext, next: CallHandler) {
    this.order.push(`${this.name} by Nest`);
    return next.handle();
  }

  async around(call: McpCall, next: () => Promise<Result>): Promise<Result> {
    this.order.push(`${this.name} begins`);
    expect(callContext.getStore()?.correlationId).toBe(call.correlationId);
    if (this.refusal !== undefined) throw this.refusal;
    try {
      return await next();
    } finally {
      this.order.push(`${this.name} ends`);
    }
  }
}

const ECO = { name: 'eco', arguments: { texto: 'a' } };

describe('steps that can be walked in promises', () => {
  it('are walked so, in the order of the list and back, when all of them can', async () => {
    const order: string[] = [];
    server = await bootMcp({ steps: (validate) => [new Step('audit', order), validate, new Step('consume', order)] });
    expect((await legacy(server.url, 'tools/call', ECO)).json.result).toMatchObject({
      structuredContent: { texto: 'a' },
    });
    expect(order).toEqual(['audit begins', 'consume begins', 'consume ends', 'audit ends']);
    order.length = 0;
    await legacy(server.url, 'tools/call', { name: 'eco', arguments: { texto: 1 } });
    expect(order).toEqual(['audit begins', 'audit ends']);
    order.length = 0;
    await legacy(server.url, 'tools/call', { name: 'nada' });
    expect(order).toEqual(['audit begins', 'consume begins', 'consume ends', 'audit ends']);
  });

  it('are all walked by Nest beside one interceptor that only Nest can walk', async () => {
    const order: string[] = [];
    const steps = (validate: CallStep, witness: Witness) => [new Step('audit', order), witness, validate];
    server = await bootMcp({ steps });
    await legacy(server.url, 'tools/call', ECO);
    expect(order).toEqual(['audit by Nest']);
    expect(server.witness.begun).toHaveLength(1);
  });

  it.each([
    ['shown when it is a CallError', new CallError('no_grant', 'No tienes permiso.'), 'No tienes permiso.'],
    ['masked when it is not', new Error('contraseña'), "Error calling tool 'eco'"],
  ])('have their errors answered by the error filter: %s', async (_how, refusal, shown) => {
    server = await bootMcp({ steps: (validate) => [new Step('decide', [], refusal), validate] });
    const { result } = (await legacy(server.url, 'tools/call', ECO)).json;
    expect(result).toMatchObject({ isError: true, content: [{ text: shown }] });
  });
});
