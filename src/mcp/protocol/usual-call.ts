import type { IncomingHttpHeaders } from 'node:http';
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
  type JSONRPCRequest,
} from '@modelcontextprotocol/server';
import { isRecord } from '../json-schema.js';
import type { Era, Kept } from './handlers.js';
import { MODERN_REVISION } from './server-factory.js';

const METHOD = 'tools/call';
const LIST = 'tools/list';

/** Versions of the 2025 era as they stand in the header. */
const LEGACY_VERSIONS: ReadonlySet<string> = new Set(SUPPORTED_PROTOCOL_VERSIONS);

/** A `tools/call` in which nothing is left for the SDK's checks to find. */
export interface UsualCall {
  readonly era: Era;
  readonly id: string | number;
  readonly name: string;
  /** As they came: their check is the entry's. */
  readonly arguments: unknown;
  /** What the client of the 2026 era can be asked. */
  readonly capabilities: Readonly<Record<string, unknown>>;
}

const NONE: UsualCall['capabilities'] = Object.freeze({});

/**
 * Knows a `tools/call` of either era that holds exactly what clients usually send; undefined for everything else, wrong or
 * merely rare (progress tokens, log levels, answers to questions, trace contexts). It never decides what is right: a test
 * holds it against the SDK's own classification, which must agree about every message that this one knows.
 */
export function usualCall(headers: IncomingHttpHeaders, body: unknown): UsualCall | undefined {
  if (!isRecord(body) || body['method'] !== METHOD || !hasOnly(body, isOfRequest)) return undefined;
  const { jsonrpc, id, params } = body;
  if (jsonrpc !== '2.0' || !isId(id) || !isRecord(params) || !hasOnly(params, isOfParams)) return undefined;
  const { name, arguments: sent, _meta: meta } = params;
  if (typeof name !== 'string') return undefined;
  const spoken = spokenIn(headers, meta, METHOD, name);
  return spoken && { ...spoken, id, name, arguments: sent };
}

/** A `tools/list` in which nothing is left for the SDK's checks to find. */
export interface UsualList {
  readonly era: Era;
  readonly id: string | number;
}

/** Knows a `tools/list` as `usualCall` knows a call; undefined for everything else. */
export function usualList(headers: IncomingHttpHeaders, body: unknown): UsualList | undefined {
  if (!isRecord(body) || body['method'] !== LIST || !hasOnly(body, isOfRequest)) return undefined;
  const { jsonrpc, id, params } = body;
  if (jsonrpc !== '2.0' || !isId(id)) return undefined;
  if (params !== undefined && (!isRecord(params) || !hasOnly(params, (key) => key === '_meta'))) return undefined;
  const spoken = spokenIn(headers, params?.['_meta'], LIST, undefined);
  return spoken && { era: spoken.era, id };
}

/** The era that headers and `_meta` agree about; undefined where something is left for the SDK to find. */
function spokenIn(
  headers: IncomingHttpHeaders,
  meta: unknown,
  method: string,
  name: string | undefined,
): Pick<UsualCall, 'era' | 'capabilities'> | undefined {
  const version = headers['mcp-protocol-version'];
  if (meta === undefined) {
    const known = version === undefined || (typeof version === 'string' && LEGACY_VERSIONS.has(version));
    return known ? { era: 'legacy', capabilities: NONE } : undefined;
  }
  if (version !== MODERN_REVISION || headers['mcp-method'] !== method || headers['mcp-name'] !== name) return undefined;
  const capabilities = capabilitiesIn(meta, version);
  return capabilities && { era: 'modern', capabilities };
}

/** Of a plain envelope of the 2026 era; undefined for any other. */
function capabilitiesIn(meta: unknown, version: string): UsualCall['capabilities'] | undefined {
  if (!isRecord(meta) || !hasOnly(meta, isOfEnvelope) || meta[PROTOCOL_VERSION_META_KEY] !== version) return undefined;
  const capabilities = meta[CLIENT_CAPABILITIES_META_KEY];
  return isPlainCapabilities(capabilities) && isPlainInfo(meta[CLIENT_INFO_META_KEY]) ? capabilities : undefined;
}

/** The message as a protocol server takes it: without the arguments, which are none of its business. */
function withoutArguments<M extends { method: string; params?: unknown }>(message: M): M {
  const { params } = message;
  if (!isRecord(params) || !('arguments' in params)) return message;
  const { arguments: _, ...rest } = params;
  return { ...message, params: rest };
}

/** The same, with what is kept of it for our own handlers. */
export function keptFrom<M extends { method: string; params?: unknown }>(message: M): { message: M; kept: Kept } {
  const { params } = message;
  return {
    message: withoutArguments(message),
    kept: { arguments: isRecord(params) ? params['arguments'] : undefined },
  };
}

/** `body` of a usual call, for what is answered through the SDK after all. */
export function requestOf(body: unknown): JSONRPCRequest {
  return withoutArguments(body as JSONRPCRequest);
}

const isOfRequest = (key: string) => key === 'jsonrpc' || key === 'id' || key === 'method' || key === 'params';
const isOfParams = (key: string) => key === 'name' || key === 'arguments' || key === '_meta';
const isOfEnvelope = (key: string) =>
  key === PROTOCOL_VERSION_META_KEY || key === CLIENT_CAPABILITIES_META_KEY || key === CLIENT_INFO_META_KEY;
const isOfInfo = (key: string) => key === 'name' || key === 'version' || key === 'title';

/** The body comes from JSON.parse: its keys are all its own, and a key may well be `__proto__`. */
function hasOnly(record: Readonly<Record<string, unknown>>, known: (key: string) => boolean): boolean {
  for (const key in record) if (!known(key)) return false;
  return true;
}

function isId(id: unknown): id is string | number {
  return typeof id === 'string' || Number.isSafeInteger(id);
}

/** `clientInfo` may be left out. */
function isPlainInfo(info: unknown): boolean {
  if (info === undefined) return true;
  if (!isRecord(info) || !hasOnly(info, isOfInfo)) return false;
  const { name, version, title } = info;
  return typeof name === 'string' && typeof version === 'string' && (title === undefined || typeof title === 'string');
}

const PLAIN_CAPABILITIES = new Set(['roots', 'sampling', 'elicitation', 'experimental', 'extensions']);

/** Capabilities that say nothing beyond their names, and those of `elicitation` and `sampling` the same way. */
function isPlainCapabilities(capabilities: unknown): capabilities is Readonly<Record<string, unknown>> {
  if (!isRecord(capabilities)) return false;
  for (const key in capabilities) {
    const of = capabilities[key];
    if (!PLAIN_CAPABILITIES.has(key) || !isRecord(of)) return false;
    for (const detail in of) if (!isEmpty(of[detail])) return false;
  }
  return true;
}

function isEmpty(value: unknown): boolean {
  return isRecord(value) && Object.keys(value).length === 0;
}
