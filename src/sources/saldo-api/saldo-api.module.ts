import { Module } from '@nestjs/common';
import { ConnectorRegistry } from '../../connectors/connector-registry.js';
import { HttpConnector } from '../../connectors/http/http-connector.js';
import { defineSource } from '../../connectors/source.js';
import { JsonLogger } from '../../logging/json-logger.js';
import { SaldoApiSettings } from './saldo-api.settings.js';
import { SaldosClient } from './saldos.client.js';

const NAME = 'saldo_api';

@Module({
  providers: [
    {
      provide: SaldosClient,
      inject: [SaldoApiSettings, ConnectorRegistry, JsonLogger],
      useFactory: (settings: SaldoApiSettings, registry: ConnectorRegistry, logger: JsonLogger) => {
        const connector = new HttpConnector({ name: NAME, settings, log: logger.eventLog('mcp_corp.connectors') });
        return new SaldosClient(registry.register(connector, settings));
      },
    },
  ],
  exports: [SaldosClient],
})
export class SaldoApiModule {}

export const SALDO_API = defineSource({ name: NAME, section: SaldoApiSettings, module: SaldoApiModule });
