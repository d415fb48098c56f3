import { Module } from '@nestjs/common';
import { ServiceSettings } from '../../config/service.settings.js';
import { ConnectorRegistry } from '../../connectors/connector-registry.js';
import { PostgresConnector } from '../../connectors/postgres/postgres-connector.js';
import { type PostgresLease } from '../../connectors/postgres/read-lease.js';
import { secretTold } from '../../connectors/secret-told.js';
import { defineSource } from '../../connectors/source.js';
import { SourceResolver } from '../../connectors/source-resolver.js';
import { JsonLogger } from '../../logging/json-logger.js';
import { type ResilientExecutor } from '../../resilience/executor.js';
import { ClientesQueries } from './clientes.queries.js';
import { ConnectionBudget } from './connection-budget.js';
import { PostgresSettings } from './postgres.settings.js';

const NAME = 'postgres';

@Module({
  providers: [
    {
      provide: ClientesQueries,
      inject: [PostgresSettings, ServiceSettings, ConnectorRegistry, JsonLogger],
      useFactory: (
        settings: PostgresSettings,
        service: ServiceSettings,
        registry: ConnectorRegistry,
        logger: JsonLogger,
      ) => {
        const { operationTimeoutMs, cancelGraceMs } = settings.executorSettings();
        const log = logger.eventLog('mcp_corp.connectors');
        const connector = new PostgresConnector({
          ...settings.target(),
          password: settings.password(secretTold(NAME, log)),
          name: NAME,
          lookup: new SourceResolver().lookup,
          applicationName: service.serviceName,
          minPoolSize: settings.minPoolSize,
          maxPoolSize: settings.maxPoolSize,
          openTimeoutMs: 1000 * settings.poolOpenTimeoutSeconds,
          operationTimeoutMs,
          cancelGraceMs,
          sqlComment: settings.sqlComment,
          log,
        });
        const budget = new ConnectionBudget({
          source: NAME,
          replicas: service.replicas,
          poolSize: settings.maxPoolSize,
          log,
        });
        const executor: ResilientExecutor<PostgresLease> = registry.register(connector, settings, {
          connected: () => budget.ask(executor),
          diagnostics: () => ({ budget: budget.figures ?? null }),
        });
        return new ClientesQueries(executor);
      },
    },
  ],
  exports: [ClientesQueries],
})
export class PostgresModule {}

export const POSTGRES = defineSource({ name: NAME, section: PostgresSettings, module: PostgresModule });
