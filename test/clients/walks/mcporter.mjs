import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { home, printed } from './command.mjs';
import { ARGUMENTS, RESOURCE, TOOL, report, url } from './report.mjs';

const config = join(home, 'mcporter.json');
writeFileSync(config, JSON.stringify({ mcpServers: { server: { baseUrl: url } } }));

/** @param {...string} options */
const ask = (...options) => printed('mcporter', ['--config', config, ...options]);

/** @type {{ tools: { name: string }[] }} */
const { tools } = JSON.parse(ask('list', 'server', '--json'));
report({
  tools: tools.map(({ name }) => name),
  called: JSON.parse(ask('call', `server.${TOOL}`, `identificador=${ARGUMENTS.identificador}`, '--output', 'json')),
  read: ask('resource', 'server', RESOURCE, '--output', 'text').trimEnd(),
  prompt: /^\s+prompt/m.test(ask('--help')) ? 'it can get prompts now: walk it' : null,
});
