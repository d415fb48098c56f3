// @ts-check
/** The official SDK, v2, as its documentation shows it for node:http: both eras, a fresh McpServer per request. */
import { createServer } from 'node:http';
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import { answer, toolsOf } from '../workload.mjs';

const [port, catalogue] = process.argv.slice(2);
const tools = toolsOf(catalogue);

const handler = createMcpHandler(() => {
  const server = new McpServer({ name: 'sdk-v2', version: '1.0.0' });
  for (const { name, title, description, input, output, annotations } of tools) {
    server.registerTool(name, { title, description, inputSchema: input, outputSchema: output, annotations }, async () =>
      answer(),
    );
  }
  return server;
});
const serve = toNodeHandler(handler);
const validHost = localhostHostValidation();
const validOrigin = localhostOriginValidation();

createServer((req, res) => {
  if (validHost(req, res) && validOrigin(req, res)) void serve(req, res);
}).listen(Number(port), '127.0.0.1');
