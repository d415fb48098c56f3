// @ts-check
/** The official SDK, v1, stateless as its documentation shows it: McpServer and transport per request, JSON answers. */
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { answer, toolsOf } from '../workload.mjs';

const [port, catalogue] = process.argv.slice(2);
const tools = toolsOf(catalogue);

createServer(async (req, res) => {
  const server = new McpServer({ name: 'sdk-v1', version: '1.0.0' });
  for (const { name, title, description, input, output, annotations } of tools) {
    server.registerTool(name, { title, description, inputSchema: input, outputSchema: output, annotations }, async () =>
      answer(),
    );
  }
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
  res.on('close', () => {
    void transport.close();
    void server.close();
  });
  await server.connect(transport);
  await transport.handleRequest(req, res);
}).listen(Number(port), '127.0.0.1');
