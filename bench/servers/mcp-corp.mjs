// @ts-check
/**
 * The product with everything on (audit, executors, validation, output check, allow-lists, the call gate): its own
 * business over sources that answer at once, or fifty tools. Only what is asked is replaced; the rest is `run`.
 */
import { Injectable, Module } from '@nestjs/common';
import { BUSINESS } from '../../dist/app.module.js';
import { ConnectorRegistry } from '../../dist/connectors/connector-registry.js';
import { defineSource } from '../../dist/connectors/source.js';
import { McpTool } from '../../dist/mcp/decorators.js';
import { run } from '../../dist/run.js';
import { ClientesQueries } from '../../dist/sources/postgres/clientes.queries.js';
import { PostgresSettings } from '../../dist/sources/postgres/postgres.settings.js';
import { SaldoApiSettings } from '../../dist/sources/saldo-api/saldo-api.settings.js';
import { SaldosClient } from '../../dist/sources/saldo-api/saldos.client.js';
import { armStopSignal } from '../../dist/stop-signal.js';
import { CUSTOMER, FIFTY } from '../workload.mjs';

const [port, catalogue] = process.argv.slice(2);

/** A connector whose resource is there at once. @param {string} name @param {object} resource */
const instant = (name, resource) => ({
  name,
  connect: async () => undefined,
  close: async () => undefined,
  health: async () => true,
  run: (operation, { signal }) => operation(resource, signal),
  classify: () => ({ kind: /** @type {const} */ ('bug') }),
});

const LEASE = { query: async () => ({ rows: [{ ...CUSTOMER }] }) };
const EXCHANGE = {
  getJson: async () => ({ status: 200, body: { cedula: CUSTOMER.cedula, saldo: 1500.5, moneda: 'COP' } }),
};

/** The module of a source: the product's own queries over an instant connector. */
function source(name, section, client, resource) {
  class InstantModule {}
  const provider = {
    provide: client,
    inject: [section, ConnectorRegistry],
    useFactory: (settings, registry) => new client(registry.register(instant(name, resource), settings)),
  };
  Module({ providers: [provider], exports: [client] })(InstantModule);
  return defineSource({ name, section, module: InstantModule });
}

const sources = [
  source('postgres', PostgresSettings, ClientesQueries, LEASE),
  source('saldo_api', SaldoApiSettings, SaldosClient, EXCHANGE),
];

const classes = FIFTY.map((tool) => {
  class Consulta {
    async call() {
      return { ...CUSTOMER };
    }
  }
  Injectable()(Consulta);
  McpTool({ ...tool, requires: [] })(Consulta);
  return Consulta;
});

class FiftyModule {}
Module({})(FiftyModule);
const FIFTY_TOOLS = {
  classes,
  sections: [],
  register: (constructed) => ({ module: FiftyModule, providers: [...constructed] }),
};

const env = {
  MCP_CORP_HOST: '127.0.0.1',
  MCP_CORP_PORT: port,
  MCP_CORP_AUDIT_HMAC_SECRET: 'clave-secreta-de-prueba-a',
  MCP_CORP_POSTGRES__ENABLED: 'true',
  // Never connected to: this source answers from memory.
  MCP_CORP_POSTGRES__DSN: 'postgresql://nobody@127.0.0.1:1/none?sslmode=disable',
  MCP_CORP_SALDO_API__ENABLED: 'true',
  MCP_CORP_SALDO_API__BASE_URL: 'http://127.0.0.1:1',
};
const parts = { sources, business: catalogue === 'fifty' ? [FIFTY_TOOLS] : BUSINESS };
process.exit(await run({ stop: armStopSignal(process), env, parts }));
