import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import {
  Module,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
  type Provider,
  type Type,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { tap, type Observable } from 'rxjs';
import { ServiceSettings } from '../../src/config/service.settings.js';
import { callContext } from '../../src/logging/call-context.js';
import { JsonLogger } from '../../src/logging/json-logger.js';
import { LoggingModule } from '../../src/logging/logging.module.js';
import type { McpCall } from '../../src/mcp/call.js';
import { CallGate } from '../../src/mcp/call-gate.js';
import { HttpSettings } from '../../src/mcp/http.settings.js';
import { McpModule } from '../../src/mcp/mcp.module.js';
import { CALL_STEPS } from '../../src/mcp/ports.js';
import { ProtocolEngine } from '../../src/mcp/protocol/engine.js';
import { ValidateInterceptor } from '../../src/mcp/validate.interceptor.js';
import { FIXTURES } from './mcp-fixtures.js';

export interface Ending {
  readonly call: McpCall;
  readonly value?: unknown;
  readonly error?: unknown;
}

/** Stands where the audit stands: sees each call begin and end, and asks for its subject as the audit does. */
export class Witness implements NestInterceptor {
  readonly begun: McpCall[] = [];
  readonly ended: Ending[] = [];
  readonly order: string[] = [];
  readonly contexts: { before?: string; after?: string }[] = [];

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const call = context.getArgByIndex<McpCall>(0);
    this.begun.push(call);
    this.order.push('witness');
    const seen = { before: callContext.getStore()?.correlationId, after: undefined as string | undefined };
    this.contexts.push(seen);
    try {
      call.subject();
    } catch {
      this.order.push('no subject');
    }
    const end = (ending: Omit<Ending, 'call'>) => {
      seen.after = callContext.getStore()?.correlationId;
      this.ended.push({ call, ...ending });
    };
    return next.handle().pipe(tap({ next: (value) => end({ value }), error: (error: unknown) => end({ error }) }));
  }
}

export interface McpApp {
  readonly url: string;
  readonly port: number;
  readonly app: NestExpressApplication;
  readonly gate: CallGate;
  readonly engine: ProtocolEngine;
  readonly witness: Witness;
  /** Everything that was logged, one object per line. */
  readonly lines: Readonly<Record<string, unknown>>[];
  get<T>(type: Type<T>): T;
  close(): Promise<void>;
}

export interface McpAppOptions {
  readonly classes?: readonly Type[];
  readonly http?: Partial<HttpSettings>;
  readonly providers?: readonly Provider[];
  /** Replaces the steps; `validate` is what the module exports. */
  readonly steps?: (validate: ValidateInterceptor, witness: Witness) => readonly NestInterceptor[];
}

/** An application of nothing but `mcp`, on a port of its own on loopback. */
export async function bootMcp(options: McpAppOptions = {}): Promise<McpApp> {
  const { classes = FIXTURES, http = {}, providers = [] } = options;
  const steps = options.steps ?? ((validate: ValidateInterceptor, witness: Witness) => [witness, validate]);
  const lines: Readonly<Record<string, unknown>>[] = [];
  const sink = {
    write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) > 0,
    unwrittenBytes: 0,
    failure: undefined,
    flush: () => Promise.resolve(true),
  };
  const logger = new JsonLogger({ sink, level: 'DEBUG', service: 'prueba', version: '0', environment: 'local' });
  const witness = new Witness();

  @Module({
    providers: [
      {
        provide: ServiceSettings,
        useValue: Object.assign(new ServiceSettings(), { serviceName: 'servidor-de-prueba' }),
      },
      { provide: HttpSettings, useValue: Object.assign(new HttpSettings(), http) },
    ],
    exports: [ServiceSettings, HttpSettings],
  })
  class Settings {}

  @Module({
    imports: [{ module: Settings, global: true }, LoggingModule.register(logger), McpModule],
    providers: [
      ...classes,
      {
        provide: CALL_STEPS,
        inject: [ValidateInterceptor],
        useFactory: (validate: ValidateInterceptor) => steps(validate, witness),
      },
      ...providers,
    ],
  })
  class Application {}

  const app = await NestFactory.create<NestExpressApplication>(Application, {
    bodyParser: false,
    logger,
    abortOnError: false,
  });
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    port,
    app,
    gate: app.get(CallGate),
    engine: app.get(ProtocolEngine),
    witness,
    lines,
    get: (type) => app.get(type, { strict: false }),
    async close() {
      app.getHttpServer().closeAllConnections();
      await app.close();
    },
  };
}
