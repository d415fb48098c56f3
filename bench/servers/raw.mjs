// @ts-check
/** The floor: node:http, one JSON.parse, one JSON.stringify. It speaks no MCP. */
import { createServer } from 'node:http';
import { answer } from '../workload.mjs';

createServer((req, res) => {
  /** @type {Buffer[]} */
  const chunks = [];
  req.on('data', (chunk) => chunks.push(chunk));
  req.on('end', () => {
    const { id } = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    const text = JSON.stringify({ jsonrpc: '2.0', id, result: answer() });
    res.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
    res.end(text);
  });
}).listen(Number(process.argv[2]), '127.0.0.1');
