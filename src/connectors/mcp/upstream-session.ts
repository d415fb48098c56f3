import {
  Client,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  StreamableHTTPClientTransport,
  type PriorDiscovery,
  type Transport,
} from '@modelcontextprotocol/client';
import { type Clock } from '../../resilience/clock.js';
import { HttpError, HttpStatusError } from '../http/http-errors.js';
import { type UpstreamChild } from './child-process.js';
import { type HttpWire } from './http-wire.js';
import {
  UnintelligibleListError,
  UpstreamAccountRefusedError,
  UpstreamCancelledError,
  UpstreamConnectError,
  UpstreamError,
  UpstreamLostError,
  UpstreamRejectedError,
  UpstreamUnansweredError,
} from './mcp-errors.js';
import { StdioTransport, TOO_LARGE } from './stdio-transport.js';
import { type ToolCall, type ToolResult } from './tool-call.js';
import { toolDefinition, type ToolDefinition } from './tool-definition.js';

/** The only file of the connectors that loads the SDK's client, and is itself loaded when the first session is opened. */

export interface SessionOptions {
  /** Name and version with which we present ourselves. */
  readonly client: { readonly name: string; readonly version: string };
  readonly clock: Clock;
  /** Bytes of the largest message of the upstream. */
  readonly maxBytes: number;
  /** What an earlier session learnt of the upstream's revision; saves asking again. */
  readonly prior?: PriorDiscovery;
  /** How long an upstream may take to say which revision it speaks. Milliseconds. */
  readonly probeMs: number;
}

/** Pages and tools of the longest list that is believed to have an end. */
const MOST_PAGES = 200;
const MOST_TOOLS = 2_000;
const LONGEST_CURSOR = 16_384;
/** Levels of the deepest result that is passed on: whoever serialises it recurses. */
const DEEPEST_RESULT = 200;

/** The SDK must have a limit of its own; the executor's is shorter. Milliseconds. */
const NO_LIMIT_MS = 2_147_483_647;

const INTERNAL_ERROR = -32_603;

/** Takes whatever comes: one odd tool must not make a whole list unreadable. */
const asItComes = {
  '~standard': {
    version: 1,
    vendor: 'mcp-corp',
    validate: (value: unknown) => ({ value: value as Answer }),
    types: undefined as { readonly input: unknown; readonly output: Answer } | undefined,
  },
} as const;

type Request = Parameters<Client['request']>[0];
type Answer = Readonly<Record<string, unknown>>;

/**
 * One connection to an upstream for one account, shared by many calls. Whatever becomes of one call, the session stays; it
 * is of no use any more when `isOpen` is false.
 */
export class UpstreamSession {
  /** Told once, when it can carry no more calls. */
  onclose: (() => void) | undefined;
  /** The upstream has said that its tools are others now. */
  ontoolschanged: (() => void) | undefined;
  #open = true;

  private constructor(
    private readonly client: Client,
    private readonly transport: Transport,
    private readonly wire: HttpWire | undefined,
    private readonly clock: Clock,
  ) {
    client.onclose = () => {
      const was = this.#open;
      this.#open = false;
      if (was) this.onclose?.();
    };
    client.setNotificationHandler('notifications/tools/list_changed', () => this.ontoolschanged?.());
  }

  static async overHttp(
    url: URL,
    wire: HttpWire,
    options: SessionOptions,
    signal: AbortSignal,
  ): Promise<UpstreamSession> {
    const transport = new StreamableHTTPClientTransport(url, {
      fetch: wire.fetch,
      reconnectionOptions: {
        ...{ maxRetries: 0, initialReconnectionDelay: 1, maxReconnectionDelay: 1, reconnectionDelayGrowFactor: 1 },
      },
    });
    return UpstreamSession.#connect(transport, wire, options, signal);
  }

  static async overPipe(child: UpstreamChild, options: SessionOptions, signal: AbortSignal): Promise<UpstreamSession> {
    return UpstreamSession.#connect(new StdioTransport(child, options.maxBytes), undefined, options, signal);
  }

  /** Rejects with an UpstreamError or an HttpError; then nothing of it is left. */
  static async #connect(
    transport: Transport,
    wire: HttpWire | undefined,
    { client: info, clock, prior, probeMs }: SessionOptions,
    signal: AbortSignal,
  ): Promise<UpstreamSession> {
    const client = new Client(info, {
      capabilities: {},
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: probeMs } },
      // Questions of an upstream have nobody here to answer them.
      inputRequired: { autoFulfill: false },
    });
    const leave = (): void => void transport.close();
    signal.addEventListener('abort', leave);
    try {
      signal.throwIfAborted();
      await client.connect(transport, { ...(prior && { prior }), signal, timeout: NO_LIMIT_MS });
      signal.throwIfAborted();
      return new UpstreamSession(client, transport, wire, clock);
    } catch (error) {
      await transport.close();
      throw signal.aborted ? new UpstreamConnectError('TIMEOUT') : connectError(error);
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  get isOpen(): boolean {
    return this.#open;
  }

  /** The same number: who answers can only be who answered then. Undefined: nobody knows. */
  get generation(): number | undefined {
    return this.wire === undefined ? 0 : this.wire.generation;
  }

  /** What the next session need not ask. */
  get prior(): PriorDiscovery | undefined {
    const discover = this.client.getDiscoverResult();
    if (this.client.getProtocolEra() === 'legacy') return { kind: 'legacy' };
    return discover && { kind: 'modern', discover };
  }

  /** Sent once, whatever happens. Rejects with an UpstreamError or an HttpError. */
  async call(
    { name, arguments: args }: ToolCall,
    bearer: string | undefined,
    signal: AbortSignal,
  ): Promise<ToolResult> {
    // Not `callTool`: that one sends again when the upstream complains about headers, and judges results.
    const request = { method: 'tools/call', params: { name, arguments: args } } as const;
    const result = await this.#request(request, bearer, signal);
    const { content, structuredContent, isError } = result;
    if (!Array.isArray(content) || deeperThan(result, DEEPEST_RESULT)) throw new UpstreamUnansweredError('UNREADABLE');
    return {
      content: content as readonly unknown[],
      ...(structuredContent !== undefined && structuredContent !== null && { structuredContent }),
      ...(typeof isError === 'boolean' && { isError }),
    };
  }

  /** Every tool, of every page. Rejects with UnintelligibleListError rather than with a part of it. */
  async tools(bearer: string | undefined, signal: AbortSignal): Promise<readonly ToolDefinition[]> {
    if (this.client.getServerCapabilities()?.tools === undefined) return [];
    const found = new Map<string, ToolDefinition>();
    const cursors = new Set<string>();
    let cursor: string | undefined;
    do {
      const params = cursor === undefined ? {} : { cursor };
      const page = await this.#request({ method: 'tools/list', params }, bearer, signal);
      if (!Array.isArray(page['tools'])) throw new UnintelligibleListError('NOT_A_LIST');
      for (const raw of page['tools'] as unknown[]) {
        const definition = toolDefinition(raw);
        if (definition === undefined) throw new UnintelligibleListError('TOOL_WITHOUT_NAME');
        if (found.has(definition.name)) throw new UnintelligibleListError('NAME_TWICE');
        found.set(definition.name, definition);
      }
      cursor = nextOf(page, cursors);
    } while (cursor !== undefined && found.size <= MOST_TOOLS);
    if (found.size > MOST_TOOLS) throw new UnintelligibleListError('TOO_MANY_TOOLS');
    return [...found.values()];
  }

  /** Whether the other side still answers anything at all. Never rejects. */
  async answers(signal: AbortSignal): Promise<boolean> {
    const method = this.client.getProtocolEra() === 'modern' ? 'server/discover' : 'ping';
    try {
      await this.#request({ method }, undefined, signal);
      return true;
    } catch (error) {
      return this.#open && error instanceof UpstreamRejectedError;
    }
  }

  /** Never rejects. A child is gone when it settles; an upstream over HTTP was told, if it listens. */
  async close(): Promise<void> {
    this.#open = false;
    if (this.transport instanceof StreamableHTTPClientTransport) {
      const { transport } = this;
      const told = transport.terminateSession().catch(() => undefined);
      await Promise.race([told, new Promise<void>((resolve) => void this.clock.after(FAREWELL_MS, resolve))]);
    }
    await this.client.close().catch(() => undefined);
    await this.transport.close().catch(() => undefined);
  }

  async #request(
    request: Request,
    bearer: string | undefined,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, unknown>>> {
    const call = this.wire?.begin(bearer);
    const ends = new AbortController();
    const leave = (): void => ends.abort();
    signal.addEventListener('abort', leave);
    const options = { signal: ends.signal, timeout: NO_LIMIT_MS, ...(call && { headers: call.headers }) };
    const answer: Promise<Answer> = this.client.request(request, asItComes, options);
    try {
      return await (call === undefined ? answer : Promise.race([answer, call.lost]));
    } catch (error) {
      throw signal.aborted ? new UpstreamCancelledError() : callError(error, this.#open);
    } finally {
      signal.removeEventListener('abort', leave);
      // Where no answer can come any more the SDK must be told, or it waits for the longest time there is.
      answer.catch(() => undefined);
      ends.abort();
      if (call !== undefined) await this.wire?.end(call);
    }
  }
}

/** How long an upstream is told that a session is over. Milliseconds. */
const FAREWELL_MS = 500;

function nextOf({ nextCursor }: Readonly<Record<string, unknown>>, seen: Set<string>): string | undefined {
  if (nextCursor === undefined || nextCursor === null) return undefined;
  if (typeof nextCursor !== 'string' || nextCursor.length > LONGEST_CURSOR) throw new UnintelligibleListError('CURSOR');
  if (seen.has(nextCursor) || seen.size >= MOST_PAGES) throw new UnintelligibleListError('PAGES_WITHOUT_END');
  seen.add(nextCursor);
  return nextCursor;
}

function connectError(error: unknown): Error {
  if (error instanceof UpstreamError || error instanceof HttpError) return error;
  const http = SdkHttpError.isInstance(error) ? error : undefined;
  if (http !== undefined)
    return http.status === 401 ? new UpstreamAccountRefusedError() : new HttpStatusError(http.status);
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  if (cause instanceof UpstreamError || cause instanceof HttpError) return cause;
  if (SdkError.isInstance(error)) return new UpstreamConnectError(String(error.code));
  if (ProtocolError.isInstance(error)) return new UpstreamConnectError(`RPC_${error.code}`);
  return new UpstreamConnectError(typeof code === 'string' && /^E[A-Z]+$/.test(code) ? code : 'HANDSHAKE');
}

function callError(error: unknown, open: boolean): Error {
  if (error instanceof UpstreamError || error instanceof HttpError) return error;
  if (ProtocolError.isInstance(error)) {
    if (error.code === TOO_LARGE) return new UpstreamUnansweredError('TOO_LARGE');
    const code = `RPC_${error.code}`;
    return error.code === INTERNAL_ERROR ? new UpstreamUnansweredError(code) : new UpstreamRejectedError(code);
  }
  if (SdkHttpError.isInstance(error)) return new HttpStatusError(error.status);
  if (SdkError.isInstance(error)) {
    if (error.code === SdkErrorCode.ConnectionClosed || error.code === SdkErrorCode.NotConnected)
      return new UpstreamLostError('CONNECTION_CLOSED');
    // It asks its caller something; nobody here can answer, and it was told so.
    if (error.code === SdkErrorCode.UnsupportedResultType) return new UpstreamRejectedError(String(error.code));
    return new UpstreamUnansweredError(String(error.code));
  }
  return open ? new UpstreamUnansweredError('UNREADABLE') : new UpstreamLostError('CONNECTION_CLOSED');
}

/** Breadth first, so that the question itself recurses nowhere. */
function deeperThan(value: unknown, levels: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > levels) return true;
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? (Object.values(one) as unknown[]) : []));
  }
  return false;
}
