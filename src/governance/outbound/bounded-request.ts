import { request as plainRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as secureRequest } from 'node:https';
import { isLoopback } from '../../connectors/loopback.js';
import { SourceResolver } from '../../connectors/source-resolver.js';

/**
 * What governance asks of other machines: keys of identity providers, secrets, tokens, the policy itself. One law for all of
 * them: TLS that is verified (whatever `NODE_TLS_REJECT_UNAUTHORIZED` says) or this very machine; no redirect is followed,
 * because it would carry a credential, or the trust in an answer, to somebody else; size and time of an answer have an end.
 */
export interface BoundedRequest {
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Bytes of the answer. */
  readonly maxBytes: number;
  /** Milliseconds from the first look-up to the last byte. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface BoundedAnswer {
  readonly status: number;
  /** UTF-8. */
  readonly text: string;
}

export const REQUEST_PROBLEMS = ['insecure_url', 'timeout', 'too_large', 'not_text', 'unreachable'] as const;
export type RequestProblem = (typeof REQUEST_PROBLEMS)[number];

/** Neither an address nor anything that was sent or answered is in it; `code` is the system's (`ECONNREFUSED`), if any. */
export class RequestError extends Error {
  override readonly name = 'RequestError';

  constructor(
    readonly problem: RequestProblem,
    readonly code?: string,
  ) {
    super(code === undefined ? problem : `${problem} (${code})`);
  }
}

export type Send = (url: string, request: BoundedRequest) => Promise<BoundedAnswer>;

/** https, or http to this machine; no user and password, which logs and other processes would see. */
export function mayBeAsked(url: URL): boolean {
  if (url.username !== '' || url.password !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
}

/**
 * `ca`: authorities besides the usual place of a test's own; by default those of Node, to which `NODE_EXTRA_CA_CERTS` adds.
 * One resolver per sender: a name server that hangs holds up nobody else (law 9). Rejects with a RequestError.
 */
export function boundedSender({ ca }: { readonly ca?: string } = {}): Send {
  const { lookup } = new SourceResolver();
  return async (url, request) => {
    const target = URL.parse(url);
    if (target === null || !mayBeAsked(target)) throw new RequestError('insecure_url');
    const options: RequestOptions & { rejectUnauthorized: boolean; ca?: string } = {
      method: request.method ?? 'GET',
      headers: {
        'user-agent': 'mcp-corp',
        'accept-encoding': 'identity',
        ...request.headers,
        ...(request.body !== undefined && { 'content-length': Buffer.byteLength(request.body) }),
      },
      agent: false,
      lookup,
      rejectUnauthorized: true,
      ...(ca !== undefined && { ca }),
    };
    return exchange(target, options, request);
  };
}

function exchange(
  target: URL,
  options: RequestOptions,
  { body, maxBytes, timeoutMs, signal }: BoundedRequest,
): Promise<BoundedAnswer> {
  return new Promise((resolve, reject) => {
    const send = target.protocol === 'https:' ? secureRequest : plainRequest;
    const outgoing = send(target, options);
    const fail = (error: unknown): void => {
      settle();
      outgoing.destroy();
      reject(asRequestError(error));
    };
    const late = setTimeout(() => fail(new RequestError('timeout')), timeoutMs);
    const leave = (): void => fail(signal?.reason);
    const settle = (): void => {
      clearTimeout(late);
      signal?.removeEventListener('abort', leave);
    };
    // Destroying makes it speak again; by then nobody listens to the promise any more.
    outgoing.on('error', fail);
    outgoing.on('response', (incoming) => {
      textOf(incoming, maxBytes).then((text) => {
        settle();
        resolve({ status: incoming.statusCode ?? 0, text });
      }, fail);
    });
    signal?.addEventListener('abort', leave);
    if (signal?.aborted === true) leave();
    else outgoing.end(body);
  });
}

async function textOf(incoming: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxBytes) throw new RequestError('too_large');
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new RequestError('not_text');
  }
}

/** The system's text names hosts and addresses: only its code is kept. */
function asRequestError(error: unknown): RequestError {
  if (error instanceof RequestError) return error;
  const code: unknown = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return new RequestError('unreachable', typeof code === 'string' && /^[A-Z0-9_]{2,64}$/.test(code) ? code : undefined);
}
