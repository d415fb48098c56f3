// The SDKs' own clients, which look the same from here.
import { ARGUMENTS, PROMPT, RESOURCE, TOOL, report } from './report.mjs';

/**
 * @typedef {object} OfficialClient
 * @property {() => Promise<{ tools: { name: string }[] }>} listTools
 * @property {(call: { name: string, arguments: object }) => Promise<{ structuredContent?: unknown }>} callTool
 * @property {(read: { uri: string }) => Promise<{ contents: { text: string }[] }>} readResource
 * @property {(get: { name: string, arguments: object }) => Promise<{ messages: { content: { text: string } }[] }>} getPrompt
 * @property {() => Promise<void>} close
 */

/** @param {OfficialClient} client */
export async function walk(client) {
  const { tools } = await client.listTools();
  const { structuredContent } = await client.callTool({ name: TOOL, arguments: ARGUMENTS });
  const { contents } = await client.readResource({ uri: RESOURCE });
  const { messages } = await client.getPrompt({ name: PROMPT, arguments: ARGUMENTS });
  await client.close();
  report({
    tools: tools.map(({ name }) => name),
    called: structuredContent,
    read: contents[0]?.text ?? null,
    prompt: messages[0]?.content.text ?? null,
  });
}
