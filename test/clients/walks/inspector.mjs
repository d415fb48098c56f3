import { printed } from './command.mjs';
import { ARGUMENTS, PROMPT, RESOURCE, TOOL, report, url } from './report.mjs';

/** @param {...string} options @returns {any} */
const ask = (...options) =>
  JSON.parse(printed('mcp-inspector', ['--cli', url, '--transport', 'http', '--method', ...options]));

const argument = `identificador=${ARGUMENTS.identificador}`;
const { tools } = ask('tools/list');
const { structuredContent } = ask('tools/call', '--tool-name', TOOL, '--tool-arg', argument);
const { contents } = ask('resources/read', '--uri', RESOURCE);
const { messages } = ask('prompts/get', '--prompt-name', PROMPT, '--prompt-args', argument);
report({
  tools: tools.map((/** @type {{ name: string }} */ { name }) => name),
  called: structuredContent,
  read: contents[0].text,
  prompt: messages[0].content.text,
});
