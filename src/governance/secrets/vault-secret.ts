import type { EventLog } from '../../logging/event-log.js';
import { mayBeAsked, RequestError, type Send } from '../outbound/bounded-request.js';
import { SecretError, type SecretProblem, type SecretScheme } from './secret-text.js';
import { SingleFlight } from './single-flight.js';

const TIMEOUT_MS = 5_000;
const MAX_BYTES = 262_144;
const DEFAULT_FIELD = 'value';

export interface VaultParts {
  readonly send: Send;
  /** Base URL, asked for at each use; undefined = there is none. */
  readonly address: () => string | undefined;
  /** The token, read anew for each use: an agent may have renewed it. Rejects with a SecretError. */
  readonly token: (signal: AbortSignal) => Promise<string>;
  readonly log: EventLog;
}

/**
 * `vault://<mount>/<path>[#<field>]`: one field, `value` by default, of a secret of Vault's KV version 2 (spec §3.5). Read for
 * every use, so that a rotated secret is the next call's.
 */
export function vaultSecret(parts: VaultParts): SecretScheme {
  const flights = new SingleFlight<string>();
  return (rest) =>
    flights.run(rest, async () => {
      try {
        return await read(rest, parts);
      } catch (error) {
        const { problem, detail } = reasonOf(error);
        parts.log.warning('vault_read_failed', { problem, detail });
        throw new SecretError(problem);
      }
    });
}

class VaultError extends Error {
  constructor(
    readonly problem: SecretProblem,
    readonly detail: string,
  ) {
    super(detail);
  }
}

async function read(rest: string, { send, address, token }: VaultParts): Promise<string> {
  const [, mount = '', path = '', field = DEFAULT_FIELD] = /^([^/#]+)\/([^#]+)(?:#(.+))?$/su.exec(rest) ?? [];
  const parts = path.split('/');
  if (mount === '' || [mount, ...parts].some((part) => ['', '.', '..'].includes(part)))
    throw new VaultError('unreadable', 'the reference is not vault://<mount>/<path>#<field>');
  const base = address();
  if (base === undefined) throw new VaultError('unreadable', 'no address of a Vault is set');
  const url = URL.parse(base);
  if (url === null || !mayBeAsked(url)) throw new VaultError('unreadable', 'the address of the Vault is not https');
  url.pathname = [url.pathname.replace(/\/+$/, ''), 'v1', mount, 'data', ...parts].map(encodedOnce).join('/');
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const { status, text } = await send(url.href, {
    ...{ maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS },
    headers: { 'x-vault-token': await token(signal), 'x-vault-request': 'true', accept: 'application/json' },
  });
  if (status === 401 || status === 403) throw new VaultError('refused', 'the token may not read it');
  if (status === 404) throw new VaultError('absent', 'there is no such secret');
  if (status !== 200) throw new VaultError('unreadable', `status ${status}`);
  return fieldOf(text, field);
}

/** The first is a path that is one already. */
const encodedOnce = (part: string, index: number): string => (index === 0 ? part : encodeURIComponent(part));

function fieldOf(text: string, field: string): string {
  const data = property(property(JSON.parse(text), 'data'), 'data');
  const value = property(data, field);
  if (value === undefined) throw new VaultError('absent', 'the secret has no such field');
  if (typeof value !== 'string') throw new VaultError('unreadable', 'the field is no text');
  return value;
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

/** For the log: what to look at, and neither the reference nor anything of the answer. */
export function reasonOf(error: unknown): { readonly problem: SecretProblem; readonly detail: string } {
  if (error instanceof VaultError) return { problem: error.problem, detail: error.detail };
  if (error instanceof SecretError)
    return { problem: 'unreadable', detail: `the token of the Vault: ${error.problem}` };
  if (error instanceof RequestError) return { problem: 'unreachable', detail: error.message };
  return { problem: 'unreadable', detail: 'the answer is not what a KV version 2 engine gives' };
}
