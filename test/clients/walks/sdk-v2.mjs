// `node sdk-v2.mjs URL legacy|auto|REVISION`
import { walk } from './official.mjs';
import { load, url } from './report.mjs';

const { Client, StreamableHTTPClientTransport } = await load('@modelcontextprotocol/client');
const asked = process.argv[3] ?? 'auto';
const mode = asked === 'legacy' || asked === 'auto' ? asked : { pin: asked };
const client = new Client({ name: 'sdk-v2', version: '2.4.0' }, { versionNegotiation: { mode } });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
await walk(client);
