// @ts-check
/** fastmcp as its README shows it: HTTP streaming, stateless. It serves the 2025 era only. */
import { FastMCP } from 'fastmcp';
import { answer, toolsOf } from '../workload.mjs';

const [port, catalogue] = process.argv.slice(2);
const server = new FastMCP({ name: 'fastmcp', version: '1.0.0' });
for (const { name, title, description, input, output, annotations } of toolsOf(catalogue)) {
  server.addTool({
    name,
    description,
    parameters: input,
    outputSchema: output,
    annotations: { title, ...annotations },
    execute: async () => answer(),
  });
}
await server.start({
  transportType: 'httpStream',
  httpStream: { host: '127.0.0.1', port: Number(port), endpoint: '/mcp', stateless: true },
});
