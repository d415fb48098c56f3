import type { IncomingMessage, ServerResponse } from 'node:http';
import type { OnApplicationBootstrap } from '@nestjs/common';
import {
  SUPPORTED_PROTOCOL_VERSIONS,
  classifyInboundRequest,
  type JSONRPCRequest,
  type McpHttpHandler,
} from '@modelcontextprotocol/server';
import type { EventLog } from '../../logging/event-log.js';
import type { CallGate } from '../call-gate.js';
import type { CallKind } from '../call.js';
import type { Catalogue } from '../catalogue.js';
import type { ChangeBus } from '../changes.js';
import { BUSY, STOPPING, refuse } from '../edge/refusal.js';
import type { CallError } from '../errors.js';
import type { Inbound } from '../inbound.js';
import { isRecord } from '../json-schema.js';
import { RpcFailure, type Result } from '../results.js';
import { startCall } from '../start-call.js';
import { Answer, acceptsEventStream } from './answer.js';
import { Delegate } from './delegate.js';
import { DirectAnswers, streamOf } from './direct-call.js';
import { LegacyExchange } from './legacy-exchange.js';
import { ModernExchange } from './modern-exchange.js';
import { call, hintsOf } from './handlers.js';
import { asProtocolError } from './rpc-errors.js';
import { MODERN_REVISION, ServerFactory } from './server-factory.js';
import { keptFrom, requestOf, usualCall, usualList, type UsualCall, type UsualList } from './usual-call.js';

/** Methods of the 2026 era that are served here, and the parameter that the `Mcp-Name` header must repeat. */
const NAME_HEADER_SOURCE = new Map<string, string | undefined>([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tools/list', undefined],
  ['prompts/list', undefined],
  ['resources/list', undefined],
  ['resources/templates/list', undefined],
]);

const LISTEN = 'subscriptions/listen';

/** What the SDK's classification says of a usual call of the 2026 era. */
const MODERN = { era: 'modern', revision: MODERN_REVISION } as const;

type Modern = Extract<ReturnType<typeof classifyInboundRequest>, { kind: 'modern' }>;

/**
 * Both eras on one endpoint. The SDK decides the era and speaks the protocol; the two transports in this folder carry the
 * usual requests, and whatever is unusual (a header that does not match literally, `server/discover`, subscriptions,
 * batches, versions that nobody knows) goes to the SDK's own handlers. The conformance runs guard the shortcut.
 *
 * Arguments are kept away from the SDK: its refusal of, say, a text in their place would be neither audited nor ours.
 */
export class ProtocolEngine implements OnApplicationBootstrap {
  #servers: ServerFactory;
  #direct: DirectAnswers;
  #delegate: Delegate;
  #calls: McpHttpHandler;
  #streams: McpHttpHandler;
  #streamsEnded = false;

  constructor(
    private readonly serviceName: string,
    private readonly catalogue: Catalogue,
    private readonly gate: CallGate,
    private readonly log: EventLog,
    /** Asked when the application is built: only then is it known whether somebody binds a bus. */
    private readonly bus: () => ChangeBus | undefined,
  ) {}

  onApplicationBootstrap(): void {
    const bus = this.bus();
    this.#servers = new ServerFactory(this.serviceName, this.catalogue, this.log, bus !== undefined);
    this.#direct = new DirectAnswers(this.#servers.info);
    this.#delegate = new Delegate(this.#servers, this.log);
    this.#calls = this.#delegate.handler(bus);
    this.#streams = this.#delegate.handler(bus);
  }

  /** Answers one POST whose body has been read and parsed. Rejects only on a fault of this server. */
  async handle(req: IncomingMessage, res: ServerResponse, body: unknown, inbound: Inbound): Promise<void> {
    const usual = usualCall(req.headers, body);
    if (usual !== undefined) return this.handleUsual(req, res, body, usual, inbound);
    const list = usualList(req.headers, body);
    if (list !== undefined) return this.handleList(req, res, body, list, inbound);
    const outcome = classifyInboundRequest({
      httpMethod: 'POST',
      protocolVersionHeader: header(req, 'mcp-protocol-version'),
      mcpMethodHeader: header(req, 'mcp-method'),
      mcpNameHeader: header(req, 'mcp-name'),
      body,
    });
    if (outcome.kind === 'modern') return this.handleModern(req, res, outcome, inbound);
    if (outcome.kind === 'reject') return this.#delegate.fetch(this.#calls, req, res, body, inbound);
    if (outcome.reason === 'batch') return this.handleBatch(req, res, body, inbound);
    // Nothing that a notification or a posted response could mean to a server without sessions.
    if (outcome.reason === 'notification' || outcome.reason === 'response') {
      res.writeHead(202).end();
      return;
    }
    const version = outcome.reason === 'no-claim' ? outcome.requestedVersion : undefined;
    if (version !== undefined && !SUPPORTED_PROTOCOL_VERSIONS.includes(version)) {
      return this.#delegate.stateless(req, res, body, inbound);
    }
    await this.handleLegacy(req, res, body as JSONRPCRequest, inbound);
  }

  /**
   * Lets a call that the edge refuses walk its steps, so that the audit has it. Resolves to what it was refused with;
   * undefined when the message is no call, of which no audit is kept.
   */
  async refuse(body: unknown, inbound: Inbound): Promise<Refused | undefined> {
    const call = callIn(body);
    if (call === undefined) return undefined;
    const entry = this.catalogue.find(call.kind, call.name);
    const input = call.kind === 'resource' ? entry.address?.(call.name) : call.input;
    try {
      await startCall(entry, input, inbound);
    } catch (error) {
      if (!(error instanceof RpcFailure)) throw error;
      const { code: jsonRpcCode, message, data } = error;
      return { jsonRpcCode, message, data, code: String(data?.['code']) };
    }
    throw new Error('a call that the edge has refused was not refused by its steps');
  }

  /** Ends the open `subscriptions/listen` streams with their proper result, and refuses new ones. First step of a stop. */
  async endStreams(): Promise<void> {
    this.#streamsEnded = true;
    await this.#streams.close();
  }

  /** Last step of a stop, when no call is in flight: the SDK's handler cuts what it still serves. */
  async close(): Promise<void> {
    await this.endStreams();
    await this.#calls.close();
  }

  /**
   * Nine calls of ten: run without a protocol server of their own, which cost more than the call. Only its end may need one:
   * an error, a question, content that is not plain text. The SDK judges and writes those, as of any other call.
   */
  private async handleUsual(
    req: IncomingMessage,
    res: ServerResponse,
    body: unknown,
    usual: UsualCall,
    inbound: Inbound,
  ): Promise<void> {
    const { era, name, capabilities } = usual;
    const answer = this.answer(req, res);
    const request = { catalogue: this.catalogue, inbound, log: this.log };
    const round = era === 'modern' ? { capabilities, responses: {}, state: undefined } : undefined;
    let end: () => Promise<Result>;
    try {
      const result = await call(request, 'tool', name, usual.arguments, streamOf(era, answer), round);
      const text = this.#direct.text(usual, result);
      if (text !== undefined) return answer.finishWith(text);
      end = async () => result;
    } catch (error) {
      end = async () => {
        throw error;
      };
    }
    await this.replay('tools/call', usual, answer, body, end);
  }

  /** The same for the list of tools: what is asked for most after calls, and its text has been made before. */
  private async handleList(
    req: IncomingMessage,
    res: ServerResponse,
    body: unknown,
    list: UsualList,
    { caller, exchange }: Inbound,
  ): Promise<void> {
    const answer = this.answer(req, res);
    let end: () => Promise<Result>;
    try {
      const tools = await asProtocolError(() => this.catalogue.definitions('tool', caller, exchange.signal));
      const written = this.catalogue.serialised(tools);
      if (written !== undefined) return answer.finishWith(this.#direct.listText(list, written));
      end = async () => ({ tools, ...hintsOf(list.era) });
    } catch (error) {
      end = async () => {
        throw error;
      };
    }
    await this.replay('tools/list', list, answer, body, end);
  }

  private async replay(
    method: 'tools/call' | 'tools/list',
    { era, id }: UsualList,
    answer: Answer,
    body: unknown,
    end: () => Promise<Result>,
  ): Promise<void> {
    const exchange = era === 'modern' ? new ModernExchange(MODERN, id, answer) : new LegacyExchange(id, answer);
    await this.#servers.replay(era, method, end).connect(exchange);
    exchange.dispatch(requestOf(body));
  }

  private async handleModern(
    req: IncomingMessage,
    res: ServerResponse,
    route: Modern,
    inbound: Inbound,
  ): Promise<void> {
    const { message: sent, messageKind, classification } = route;
    if (messageKind === 'request' && sent.method === LISTEN) return this.listen(req, res, sent, inbound);
    const { message, kept } = keptFrom(sent);
    if (messageKind !== 'request' || !isUsual(req, route)) {
      return this.#delegate.fetch(this.#calls, req, res, message, inbound, kept);
    }
    const request = message as JSONRPCRequest;
    const exchange = new ModernExchange(classification, request.id, this.answer(req, res));
    await this.#servers.create('modern', inbound, request.method, kept).connect(exchange);
    exchange.dispatch(request);
  }

  private async handleLegacy(
    req: IncomingMessage,
    res: ServerResponse,
    sent: JSONRPCRequest,
    inbound: Inbound,
  ): Promise<void> {
    const { message, kept } = keptFrom(sent);
    const exchange = new LegacyExchange(message.id, this.answer(req, res));
    await this.#servers.create('legacy', inbound, message.method, kept).connect(exchange);
    exchange.dispatch(message);
  }

  /** Batches of 2025-03-26: each message is a call, and takes its place as one. */
  private async handleBatch(req: IncomingMessage, res: ServerResponse, body: unknown, inbound: Inbound): Promise<void> {
    if (Array.isArray(body) && !this.gate.widen(inbound.exchange, body.length)) return refuse(req, res, BUSY);
    await this.#delegate.stateless(req, res, body, inbound);
  }

  /** A stream has no end of its own: it is no call in flight, and the drain does not wait for it. */
  private async listen(req: IncomingMessage, res: ServerResponse, body: unknown, inbound: Inbound): Promise<void> {
    if (this.#streamsEnded) return refuse(req, res, STOPPING);
    this.gate.release(inbound.exchange);
    await this.#delegate.fetch(this.#streams, req, res, body, inbound);
  }

  private answer(req: IncomingMessage, res: ServerResponse): Answer {
    return new Answer(res, acceptsEventStream(req.headers), (value) => this.catalogue.serialised(value));
  }
}

/** What a refused call is told. */
type Refused = Pick<CallError, 'code' | 'message' | 'data' | 'jsonRpcCode'>;

const CALLS = new Map<unknown, readonly [kind: CallKind, named: string]>([
  ['tools/call', ['tool', 'name']],
  ['prompts/get', ['prompt', 'name']],
  ['resources/read', ['resource', 'uri']],
]);

function callIn(
  body: unknown,
): { readonly kind: CallKind; readonly name: string; readonly input: unknown } | undefined {
  const [kind, named = ''] = (isRecord(body) && CALLS.get(body['method'])) || [];
  const params = isRecord(body) && isRecord(body['params']) ? body['params'] : {};
  const name = params[named];
  return kind === undefined || typeof name !== 'string' ? undefined : { kind, name, input: params['arguments'] };
}

/** All three headers literally as the body says: then nothing is left for the SDK's checks to find. */
function isUsual(req: IncomingMessage, { message, classification }: Modern): boolean {
  if (!NAME_HEADER_SOURCE.has(message.method)) return false;
  if (classification.revision !== MODERN_REVISION || header(req, 'mcp-protocol-version') !== MODERN_REVISION)
    return false;
  if (header(req, 'mcp-method') !== message.method) return false;
  const source = NAME_HEADER_SOURCE.get(message.method);
  return source === undefined || header(req, 'mcp-name') === (message.params as Record<string, unknown>)[source];
}

function header(req: IncomingMessage, name: string): string | undefined {
  const value = req.headers[name];
  return typeof value === 'string' ? value : undefined;
}
