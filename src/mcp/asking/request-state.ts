import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { McpCall } from '../call.js';
import { isRecord } from '../json-schema.js';

/** Seconds that a question stays open. */
const LIFETIME_SECONDS = 900;

/** Characters of a state that are looked at: beyond it, none of ours. */
const LONGEST = 65_536;

const SHAPE = /^1\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{43})$/;

/** What was left for the next round, or why it cannot be trusted. */
export type Opened = { readonly ok: true; readonly state: unknown } | { readonly ok: false };

const REFUSED: Opened = { ok: false };

/**
 * `requestState`: `1.<base64url of JSON { exp, state }>.<base64url of HMAC-SHA256>`. It passes through the caller, who can
 * read it; the HMAC covers, beside the payload, the entry, a digest of its arguments and a digest of the caller's
 * credential, so that a state is worth nothing for another call (MCP 2026-07-28, basic/patterns/mrtr, server
 * requirements 4 and 5). Any replica with the same key opens it. It can be used more than once until it expires:
 * single use would need a store.
 */
export class RequestState {
  /** `now`: wall clock, milliseconds; replicas compare theirs. */
  constructor(
    private readonly key: string,
    private readonly now: () => number = Date.now,
  ) {}

  /** @throws TypeError when `state` is no JSON value. */
  seal(call: McpCall, state: unknown): string {
    const exp = Math.floor(this.now() / 1000) + LIFETIME_SECONDS;
    const payload = Buffer.from(JSON.stringify({ exp, state })).toString('base64url');
    return `1.${payload}.${this.mac(call, payload).toString('base64url')}`;
  }

  open(call: McpCall, sealed: string): Opened {
    if (sealed.length > LONGEST) return REFUSED;
    const [, payload = '', mac = ''] = SHAPE.exec(sealed) ?? [];
    const given = Buffer.from(mac, 'base64url');
    const expected = this.mac(call, payload);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return REFUSED;
    // Ours from here on: only this class writes what verifies.
    const { exp, state } = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as {
      exp: number;
      state?: unknown;
    };
    return exp * 1000 > this.now() ? { ok: true, state } : REFUSED;
  }

  private mac({ kind, name, input, caller }: McpCall, payload: string): Buffer {
    const digests = [canonicalJson(input), caller.credential].map((text) =>
      createHash('sha256').update(text).digest('hex'),
    );
    // As JSON, so that no two lists of parts are the same text.
    const bound = JSON.stringify(['mcp-corp/request-state', kind, name, ...digests, payload]);
    return createHmac('sha256', this.key).update(bound).digest();
  }
}

/** The same text for the same value, whatever the order of keys in which the caller wrote it. */
function canonicalJson(value: unknown): string {
  return (
    JSON.stringify(value, (_key, node: unknown) =>
      isRecord(node) ? Object.fromEntries(Object.entries(node).sort(([a], [b]) => (a < b ? -1 : 1))) : node,
    ) ?? ''
  );
}
