import { ARGUMENTS, RESOURCE, TOOL, load, report, url } from './report.mjs';

const { MultiServerMCPClient } = await load('@langchain/mcp-adapters');
const client = new MultiServerMCPClient({ mcpServers: { server: { transport: 'http', url } } });
const tools = await client.getTools();
const tool = tools.find((/** @type {{ name: string }} */ { name }) => name === TOOL);
const called = await tool.invoke(ARGUMENTS);
const contents = await client.readResource('server', RESOURCE);
await client.close();
report({
  tools: tools.map((/** @type {{ name: string }} */ { name }) => name),
  called: called.structuredContent,
  read: contents[0].text,
  prompt: 'getPrompt' in client ? 'it can get prompts now: walk it' : null,
});
