// @ts-check
/**
 * An upstream over stdio, with the SDK's v1 (initialize first). Arguments: a JSON object of `State`, and of
 * `{ deaf, stubborn, grandchild, touchy, pidFile }`.
 */
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { answer, newState, page } from './tools.mjs';

/** @typedef {{ deaf?: boolean, stubborn?: boolean, grandchild?: boolean, touchy?: boolean, pidFile?: string }} Manners */
/** @type {unknown} */
const sent = JSON.parse(process.argv[2] ?? '{}');
const asked = /** @type {Manners} */ (sent);
const { stubborn, grandchild, touchy, pidFile, deaf, ...given } = asked;
const state = newState(given);
const note = (/** @type {number | undefined} */ pid) => pidFile && appendFileSync(pidFile, `${pid}\n`);
note(process.pid);
// A child that has to be killed, and one that has a child of its own.
if (stubborn) {
  process.on('SIGTERM', () => undefined);
  setInterval(() => undefined, 1000);
}
if (grandchild) note(spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' }).pid);

if (deaf) {
  setInterval(() => undefined, 1000);
} else {
  const server = new Server({ name: 'hijo', version: '1.0.0' }, { capabilities: { tools: { listChanged: true } } });
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => page(state, params?.cursor));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    const before = state.description;
    const credential = process.env['MCP_UPSTREAM_CREDENTIAL'];
    const result = await answer(state, params.name, params.arguments ?? {}, { credential, signal });
    if (state.description !== before) await server.sendToolListChanged();
    return result;
  });
  const transport = new StdioServerTransport();
  await server.connect(transport);
  const receive = transport.onmessage;
  // Servers that end when the first thing they hear is not `initialize`.
  if (touchy) {
    transport.onmessage = (message) => {
      if ('method' in message && message.method === 'server/discover') process.exit(9);
      receive?.(message);
    };
  }
}
