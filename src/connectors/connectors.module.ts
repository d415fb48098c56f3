import { Global, Module } from '@nestjs/common';
import { JsonLogger } from '../logging/json-logger.js';
import { type ExecutorObserver } from '../resilience/observer.js';
import { ConnectorRegistry } from './connector-registry.js';

/** Bound by observability, when it is there, in a global module. */
export const EXECUTOR_OBSERVER = Symbol('EXECUTOR_OBSERVER');

@Global()
@Module({
  providers: [
    {
      provide: ConnectorRegistry,
      inject: [JsonLogger, { token: EXECUTOR_OBSERVER, optional: true }],
      useFactory: (logger: JsonLogger, observer?: ExecutorObserver) =>
        new ConnectorRegistry({
          log: logger.eventLog('mcp_corp.connectors'),
          executorLog: logger.eventLog('mcp_corp.resilience'),
          observer,
        }),
    },
  ],
  exports: [ConnectorRegistry],
})
export class ConnectorsModule {}
