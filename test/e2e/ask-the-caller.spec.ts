import { describe, expect, it } from '@jest/globals';
import { modern } from '../support/mcp-http.js';
import { ServerProcess } from '../support/server-process.js';

const DIST = new URL('../../dist/', import.meta.url).href;

/** The built server with one tool that asks, in the place of its own business. */
const PROGRAM = `
import 'reflect-metadata';
import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { armStopSignal } from '${DIST}stop-signal.js';
import { run } from '${DIST}run.js';
import { Form, ask } from '${DIST}mcp/asking/questions.js';
import { McpTool } from '${DIST}mcp/decorators.js';

const form = new Form(z.strictObject({ confirma: z.boolean() }));
class Bloquear {
  async call(_input, _call, dialogue) {
    const answer = dialogue.accepted('confirma', form);
    return answer === undefined ? ask({ confirma: form.question('¿Bloquear?') }) : { bloqueado: answer.confirma };
  }
}
Injectable()(Bloquear);
McpTool({
  name: 'bloquear', title: 'Bloquear', description: 'Bloquea.', asks: 'bound', requires: [],
  input: z.strictObject({}), output: z.strictObject({ bloqueado: z.boolean() }),
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
})(Bloquear);
class Business {
  static classes = [Bloquear];
  static sections = [];
  static register = (classes) => ({ module: Business, providers: classes });
}
process.exit(await run({ stop: armStopSignal(process), parts: { sources: [], business: [Business] } }));
`;
const command = ['--input-type=module', '--eval', PROGRAM];

describe('the built server with a tool that asks', () => {
  it('ends with code 2 and names the variable when it has no key for the states', async () => {
    const server = await ServerProcess.spawn({}, { command });
    expect(await server.exited).toBe(2);
    expect(server.events('configuration_error')).toMatchObject([
      { variable: 'MCP_CORP_HTTP__STATE_SECRET', problem: expect.stringContaining('bloquear') },
    ]);
  });

  it('asks, is answered, and audits both rounds', async () => {
    const env = { MCP_CORP_HTTP__STATE_SECRET: 'una clave de prueba de más de 32 bytes' };
    await using server = await ServerProcess.ready(env, { command });
    const _meta = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } };
    const params = { name: 'bloquear', arguments: {}, _meta };
    const url = `${server.url}/mcp`;
    const { requestState } = (await modern(url, 'tools/call', params)).json.result;
    const inputResponses = { confirma: { action: 'accept', content: { confirma: true } } };
    const answered = await modern(url, 'tools/call', { ...params, inputResponses, requestState });
    expect(answered.json.result).toMatchObject({ structuredContent: { bloqueado: true } });
    const changed = `${String(requestState)}x`;
    const refused = await modern(url, 'tools/call', { ...params, inputResponses, requestState: changed });
    expect(refused.json.error).toMatchObject({ code: -32602 });
    expect(await server.stop()).toBe(0);
    const records = server.events('tool_invocation_completed');
    expect(records).toMatchObject([
      { tool: 'bloquear', result: 'success', input_required: 'confirma' },
      { tool: 'bloquear', result: 'success' },
      { tool: 'bloquear', result: 'failure', reason: 'invalid_request_state' },
    ]);
    expect(records[1]).not.toHaveProperty('input_required');
  });
});
