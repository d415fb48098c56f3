import { ARGUMENTS, PROMPT, RESOURCE, TOOL, load, report, url } from './report.mjs';

const { createMCPClient } = await load('@ai-sdk/mcp');
const client = await createMCPClient({ transport: { type: 'http', url } });
const tools = await client.tools();
const called = await tools[TOOL].execute(ARGUMENTS, { toolCallId: '1', messages: [] });
const { contents } = await client.readResource({ uri: RESOURCE });
const { messages } = await client.getPrompt({ name: PROMPT, arguments: ARGUMENTS });
await client.close();
report({
  tools: Object.keys(tools),
  called: called.structuredContent,
  read: contents[0].text,
  prompt: messages[0].content.text,
});
