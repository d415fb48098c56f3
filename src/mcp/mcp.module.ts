import { Module } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, ExternalContextCreator } from '@nestjs/core';
import { ServiceSettings } from '../config/service.settings.js';
import { JsonLogger } from '../logging/json-logger.js';
import { Bindings } from './bindings.js';
import { CallGate } from './call-gate.js';
import { Catalogue } from './catalogue.js';
import { AllowLists } from './edge/allow-lists.js';
import { BodyReader } from './edge/body-reader.js';
import { ResourceMetadataController } from './edge/resource-metadata.controller.js';
import { ErrorFilter } from './error.filter.js';
import { HttpSettings } from './http.settings.js';
import { McpController } from './mcp.controller.js';
import { ProtocolEngine } from './protocol/engine.js';
import { ValidateInterceptor } from './validate.interceptor.js';

/** Milliseconds for the body of a request, and bodies of the largest size that may be on their way at one time. */
const BODY_MS = 10_000;
const BODIES_ON_THE_WAY = 32;

const LOGGER = 'mcp_corp.tools';

/**
 * Serves /mcp. Comes in: the settings and the logger (global), and whatever the application binds of `ports.ts`,
 * `bindings.ts` and `changes.ts`. Goes out: the step `validate`, and what start and stop are driven with.
 */
@Module({
  imports: [DiscoveryModule],
  controllers: [McpController, ResourceMetadataController],
  providers: [
    ValidateInterceptor,
    {
      provide: Bindings,
      inject: [DiscoveryService],
      useFactory: (discovery: DiscoveryService) => new Bindings(discovery),
    },
    {
      provide: ErrorFilter,
      inject: [JsonLogger],
      useFactory: (logger: JsonLogger) => new ErrorFilter(logger.eventLog(LOGGER)),
    },
    {
      provide: Catalogue,
      inject: [DiscoveryService, ExternalContextCreator, Bindings, ErrorFilter, HttpSettings],
      useFactory: (
        discovery: DiscoveryService,
        contexts: ExternalContextCreator,
        bindings: Bindings,
        filter: ErrorFilter,
        { stateSecret }: HttpSettings,
      ) => new Catalogue(discovery, contexts, bindings, filter, stateSecret),
    },
    {
      provide: CallGate,
      inject: [HttpSettings, Bindings],
      useFactory: (http: HttpSettings, bindings: Bindings) => new CallGate(() => http.maxCalls ?? bindings.callLimit),
    },
    {
      provide: AllowLists,
      inject: [HttpSettings],
      useFactory: (http: HttpSettings) => new AllowLists(http.allowedHosts, http.allowedOrigins ?? []),
    },
    {
      provide: BodyReader,
      inject: [HttpSettings],
      useFactory: ({ maxBodyBytes }: HttpSettings) =>
        new BodyReader({ bytes: maxBodyBytes, totalBytes: maxBodyBytes * BODIES_ON_THE_WAY, milliseconds: BODY_MS }),
    },
    {
      provide: ProtocolEngine,
      inject: [ServiceSettings, Catalogue, CallGate, JsonLogger, Bindings],
      useFactory: (
        { serviceName }: ServiceSettings,
        catalogue: Catalogue,
        gate: CallGate,
        logger: JsonLogger,
        bindings: Bindings,
      ) => new ProtocolEngine(serviceName, catalogue, gate, logger.eventLog(LOGGER), () => bindings.changes),
    },
  ],
  exports: [ValidateInterceptor, Catalogue, CallGate, ProtocolEngine],
})
export class McpModule {}
