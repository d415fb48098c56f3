import type { ServerResponse } from 'node:http';
import type { CallError } from '../errors.js';
import { isRecord } from '../json-schema.js';
import { INTERNAL_ERROR } from '../results.js';

/** Where the document about a protected resource stands (RFC 9728 §3). */
export const METADATA_PATH = '/.well-known/oauth-protected-resource';

/** What a request without a right to be here is answered with (RFC 6750 §3), so that OAuth clients can begin a login. */
export interface Challenge {
  /** 401: nobody is recognised. 403: somebody is, and his token is not good for this. */
  readonly status: 401 | 403;
  /** Of the header, besides `resource_metadata`: `error`, `scope`, … */
  readonly parameters: Readonly<Record<string, string>>;
  /** What the caller reads; `requestId`: under which the audit or the log has it. */
  readonly refusal: (requestId: string) => CallError;
}

/** The resource as its clients call it: what is configured, or else the host that they have asked for. */
export function resourceOf(configured: string | undefined, host: string | undefined): URL {
  return new URL(configured ?? `http://${host ?? 'localhost'}/mcp`);
}

/** The path comes after the well-known part, as RFC 9728 §3.1 asks. */
export function metadataUrl(resource: URL): string {
  return `${resource.origin}${METADATA_PATH}${resource.pathname === '/' ? '' : resource.pathname}`;
}

export function answerChallenge(
  res: ServerResponse,
  body: unknown,
  { status, parameters }: Challenge,
  { code, message, data, jsonRpcCode }: Pick<CallError, 'code' | 'message' | 'data' | 'jsonRpcCode'>,
  resource: URL,
): void {
  if (res.headersSent || res.destroyed) return;
  const id = isRecord(body) && ['string', 'number'].includes(typeof body['id']) ? body['id'] : null;
  const error = { code: jsonRpcCode ?? INTERNAL_ERROR, message, data: { ...data, code } };
  const text = JSON.stringify({ jsonrpc: '2.0', error, id });
  const all = { ...parameters, resource_metadata: metadataUrl(resource) };
  const challenge = Object.entries(all).map(([name, value]) => `${name}=${quoted(value)}`);
  res.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'www-authenticate': `Bearer ${challenge.join(', ')}`,
    'cache-control': 'no-store',
  });
  res.end(text);
}

/** RFC 9110 §5.6.4; nothing else than printable ASCII goes into a header. */
const quoted = (text: string): string => `"${text.replaceAll(/[^\x20-\x7e]/g, '?').replaceAll(/["\\]/g, '\\$&')}"`;
