import type { ServerResponse } from 'node:http';

/** Exactly what browser clients of MCP send and read (mcp-protocol.md §4-19); never a wildcard. */
const REQUEST_HEADERS = [
  'Authorization',
  'Content-Type',
  'Accept',
  'MCP-Protocol-Version',
  'Mcp-Method',
  'Mcp-Name',
  'Mcp-Session-Id',
  'Last-Event-ID',
];
const RESPONSE_HEADERS = ['WWW-Authenticate', 'Mcp-Session-Id'];

/** Seconds for which a browser may keep the answer to its preflight. */
const MAX_AGE = '600';

/** For a listed origin only: lets its pages read the answer. */
export function allowOrigin(res: ServerResponse, origin: string): void {
  res.setHeader('access-control-allow-origin', origin);
  res.setHeader('access-control-expose-headers', RESPONSE_HEADERS.join(', '));
  res.setHeader('vary', 'Origin');
}

/** Answers the preflight of a listed origin. `credentialHeader` joins the list when it is not `authorization`. */
export function answerPreflight(res: ServerResponse, credentialHeader: string): void {
  const known = REQUEST_HEADERS.some((name) => name.toLowerCase() === credentialHeader);
  res.setHeader('access-control-allow-methods', 'POST');
  res.setHeader('access-control-allow-headers', [...REQUEST_HEADERS, ...(known ? [] : [credentialHeader])].join(', '));
  res.setHeader('access-control-max-age', MAX_AGE);
  res.writeHead(204).end();
}
