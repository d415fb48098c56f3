import { walk } from './official.mjs';
import { load, url } from './report.mjs';

const { Client } = await load('@modelcontextprotocol/sdk/client/index.js');
const { StreamableHTTPClientTransport } = await load('@modelcontextprotocol/sdk/client/streamableHttp.js');
const client = new Client({ name: 'sdk-v1', version: '1.32.2' });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
await walk(client);
