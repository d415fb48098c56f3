import type { IncomingHttpHeaders } from 'node:http';
import type { Caller, ForwardedCertificate } from './call.js';
import type { ParentSpan } from './observation.js';

/** Longest text that is taken over from a header or from `clientInfo`, in UTF-16 units. */
const LONGEST = 256;
const LONGEST_CREDENTIAL = 16_384;

const CLIENT_INFO = 'io.modelcontextprotocol/clientInfo';

/**
 * W3C Trace Context, level 1: `version-traceid-parentid-flags`. All zeros and version ff are invalid; version 00 ends
 * there, and what a later version appends is not read.
 */
const TRACEPARENT =
  /^(?:00(?=.{53}$)|(?!00|ff)[0-9a-f]{2}(?=.{53}(?:-|$)))-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})/;
const SAMPLED = 1;

/**
 * Who is asking, from the headers and, in the 2026 era, from the `_meta` of the message. Nothing of it is verified here;
 * in the 2025 era a stateless request names no client, so the User-Agent stands in.
 */
export function callerOf(
  headers: IncomingHttpHeaders,
  body: unknown,
  credentialHeader: string,
  certificate?: ForwardedCertificate,
): Caller {
  const info = metaOf(body)?.[CLIENT_INFO];
  return {
    credential: credentialOf(headers[credentialHeader]),
    client: (isRecord(info) ? nameAndVersion(info) : undefined) ?? short(headers['user-agent']),
    language: short(headers['accept-language']),
    ...(certificate && { certificate }),
  };
}

/** The caller's span: `_meta.traceparent` (SEP-414) or the header. Undefined when there is none or it is not valid. */
export function parentSpanOf(headers: IncomingHttpHeaders, body: unknown): ParentSpan | undefined {
  const traceparent = metaOf(body)?.['traceparent'] ?? headers['traceparent'];
  // Longer than any that a caller could mean; a pattern must not walk through megabytes.
  if (typeof traceparent !== 'string' || traceparent.length > LONGEST) return undefined;
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
}

function credentialOf(value: string | string[] | undefined): string {
  if (typeof value !== 'string' || value.length > LONGEST_CREDENTIAL) return '';
  return value.replace(/^Bearer(?: +|$)/i, '').trim();
}

function nameAndVersion({ name, version }: Record<string, unknown>): string | undefined {
  if (typeof name !== 'string') return undefined;
  return short(typeof version === 'string' ? `${name}/${version}` : name);
}

function short(text: string | undefined): string | undefined {
  return text === undefined || text.length <= LONGEST ? text : text.slice(0, LONGEST);
}

function metaOf(body: unknown): Record<string, unknown> | undefined {
  const params = isRecord(body) ? body['params'] : undefined;
  const meta = isRecord(params) ? params['_meta'] : undefined;
  return isRecord(meta) ? meta : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
