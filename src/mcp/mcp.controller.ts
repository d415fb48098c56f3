import { newCorrelationId } from './correlation-id.js';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { All, Controller, Req, Res, type OnApplicationBootstrap } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { JsonLogger } from '../logging/json-logger.js';
import { CallGate } from './call-gate.js';
import { Bindings } from './bindings.js';
import { callerOf, parentSpanOf } from './caller.js';
import { AllowLists } from './edge/allow-lists.js';
import type { CertificateHeader } from './edge/certificate-header.js';
import { answerChallenge, resourceOf } from './edge/challenge.js';
import { BodyReader } from './edge/body-reader.js';
import { allowOrigin, answerPreflight } from './edge/cors.js';
import { openFrontDoor } from './edge/front-door.js';
import * as refusals from './edge/refusal.js';
import { refuse, type Refusal } from './edge/refusal.js';
import type { Inbound } from './inbound.js';
import type { CallTracer, Challenger } from './ports.js';
import { ProtocolEngine } from './protocol/engine.js';

const PATH = 'mcp';

/**
 * The edge of /mcp, in this order: method, Host, Origin, room for one more call, size and type and time of the body, its
 * JSON; where callers are challenged, who it is. Then the protocol takes over. Every refusal is a JSON-RPC error.
 */
@Controller(PATH)
export class McpController implements OnApplicationBootstrap {
  #credentialHeader = 'authorization';
  #tracer: CallTracer | undefined;
  #certificates: CertificateHeader | undefined;
  #challenger: Challenger | undefined;
  readonly #log;

  constructor(
    private readonly lists: AllowLists,
    private readonly gate: CallGate,
    private readonly bodies: BodyReader,
    private readonly protocol: ProtocolEngine,
    private readonly bindings: Bindings,
    private readonly host: HttpAdapterHost,
    logger: JsonLogger,
  ) {
    this.#log = logger.eventLog('mcp_corp.tools');
  }

  onApplicationBootstrap(): void {
    this.#credentialHeader = this.bindings.credentialHeader;
    this.#certificates = this.bindings.certificateHeader;
    this.#challenger = this.bindings.challenger;
    this.#tracer = this.bindings.tracer;
    const server = this.host.httpAdapter.getHttpServer() as Server;
    openFrontDoor(server, `/${PATH}`, (req, res) => void this.handle(req, res));
  }

  @All()
  async handle(@Req() req: IncomingMessage, @Res() res: ServerResponse): Promise<void> {
    try {
      await this.admit(req, res);
    } catch (error) {
      this.#log.error('unexpected_error', {}, error);
      if (res.headersSent) res.destroy();
      else refuse(req, res, refusals.BROKEN);
    }
  }

  private async admit(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { origin } = req.headers;
    if (req.method === 'OPTIONS' && this.lists.listsOrigins) return this.preflight(req, res);
    const refusal = this.refusalOf(req);
    if (refusal !== undefined) return refuse(req, res, refusal);
    if (this.lists.isListed(origin)) allowOrigin(res, origin);
    if (this.gate.isFull) return refuse(req, res, this.noRoom());
    const body = await this.bodies.read(req);
    if (body.kind === 'refused') return refuse(req, res, body.refusal);
    if (body.kind === 'text') await this.serve(req, res, body.text);
  }

  private refusalOf({ method, headers }: IncomingMessage): Refusal | undefined {
    if (method !== 'POST') return refusals.METHOD_NOT_ALLOWED;
    if (!this.lists.allowsHost(headers.host)) return refusals.HOST_REFUSED;
    return this.lists.allowsOrigin(headers.origin) ? undefined : refusals.ORIGIN_REFUSED;
  }

  private preflight(req: IncomingMessage, res: ServerResponse): void {
    const { host, origin } = req.headers;
    if (!this.lists.allowsHost(host)) return refuse(req, res, refusals.HOST_REFUSED);
    if (!this.lists.isListed(origin)) return refuse(req, res, refusals.ORIGIN_REFUSED);
    allowOrigin(res, origin);
    answerPreflight(res, this.#credentialHeader);
  }

  private noRoom(): Refusal {
    return this.gate.isStopped ? refusals.STOPPING : refusals.BUSY;
  }

  private async serve(req: IncomingMessage, res: ServerResponse, text: string): Promise<void> {
    // Before the body is parsed: with no room left, parsing is work that we know to be thrown away.
    const exchange = this.gate.enter(res);
    if (exchange === undefined) return refuse(req, res, this.noRoom());
    const message = parsed(text);
    if (message === undefined) return refuse(req, res, refusals.BROKEN_JSON);
    const caller = callerOf(req.headers, message, this.#credentialHeader, this.#certificates?.of(req));
    const parent = parentSpanOf(req.headers, message);
    const inbound = { exchange, caller, parent, tracer: this.#tracer };
    try {
      if (await this.challenged(req, res, message, inbound)) return;
      await this.protocol.handle(req, res, message, inbound);
    } catch (error) {
      if (!exchange.isCut || error !== exchange.signal.reason) throw error;
    }
  }

  /** A call that is refused here walks its steps all the same: the audit has it, and its id is what the caller is told. */
  private async challenged(
    req: IncomingMessage,
    res: ServerResponse,
    message: unknown,
    inbound: Inbound,
  ): Promise<boolean> {
    const challenger = this.#challenger;
    const challenge = await challenger?.challenge(inbound.caller, inbound.exchange.signal);
    if (challenger === undefined || challenge === undefined) return false;
    const { refusal } = challenge;
    let told = await this.protocol.refuse(message, { ...inbound, caller: { ...inbound.caller, refused: refusal } });
    if (told === undefined) {
      const requestId = newCorrelationId();
      told = refusal(requestId);
      challenger.refused(told.code, requestId);
    }
    answerChallenge(res, message, challenge, told, resourceOf(challenger.resource, req.headers.host));
    return true;
  }
}

/** Undefined when it is not JSON; JSON itself has no undefined. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
