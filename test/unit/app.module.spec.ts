import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { NestInterceptor } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { stringify } from 'yaml';
import { AppModule, governable, SECTIONS } from '../../src/app.module.js';
import { loadSettings } from '../../src/config/load-settings.js';
import { ConnectorRegistry } from '../../src/connectors/connector-registry.js';
import { loadPolicy } from '../../src/governance/policy-file/load-policy.js';
import { JsonLogger } from '../../src/logging/json-logger.js';
import { CALL_STEPS } from '../../src/mcp/ports.js';
import type { GrantDocument } from '../../src/governance/core/index.js';
import { MemorySink } from './audit/doubles.js';
import { policyWith, toAna } from '../support/governed-policy.js';
import { legacy } from '../support/mcp-http.js';

let close: (() => Promise<void>) | undefined;
afterEach(async () => {
  await close?.();
  close = undefined;
});

/** The application as the product composes it; its one source is at an address that nobody listens at. */
async function boot(grants?: readonly GrantDocument[]) {
  const sink = new MemorySink();
  const logger = new JsonLogger({ sink, level: 'ERROR', service: 'prueba', version: '0', environment: 'local' });
  const settings = loadSettings(
    {
      MCP_CORP_POSTGRES__ENABLED: 'true',
      MCP_CORP_POSTGRES__DSN: 'postgresql://nadie:nada@127.0.0.1:1/nada',
      MCP_CORP_AUDIT_HMAC_SECRET: 'clave-secreta-de-prueba-a',
    },
    SECTIONS,
  );
  // A secret of the environment that is there wherever tests run.
  const text = stringify(
    policyWith(grants ?? [], (draft) => {
      draft.principals = {
        issuers: draft.principals.issuers.map((one) => ({ ...one, secret: { ref: 'env://PATH' } })).slice(0, 1),
      };
      draft.accounts = draft.accounts.map((one) => ({ ...one, secret: { ref: 'env://PATH' } }));
    }),
    { aliasDuplicateObjects: false },
  );
  const { policy, version, locate } = loadPolicy(text, { catalogue: { local: governable() }, purpose: 'serve' });
  const served = grants === undefined ? undefined : { policy: policy!, version, locate };
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.register(settings, {
      ...{ logger, standardOutput: sink, elsewhere: logger.eventLog('elsewhere'), replica: 'uno' },
      ...(served && { served }),
    }),
    { bodyParser: false, logger, abortOnError: false },
  );
  await app.listen(0, '127.0.0.1');
  close = async () => {
    await app.get(ConnectorRegistry).closeAll();
    app.getHttpServer().closeAllConnections();
    await app.close();
  };
  const { port } = app.getHttpServer().address() as AddressInfo;
  const headers = { authorization: `Bearer ${process.env['PATH']}` };
  const call = async (name: string, input: object): Promise<Record<string, unknown>> => {
    await legacy(`http://127.0.0.1:${port}/mcp`, 'tools/call', { name, arguments: input }, { headers });
    const records = sink.records.filter(({ message }) => String(message).startsWith('tool_invocation'));
    const [started, completed] = records.slice(-2);
    // Inside the audit, whatever becomes of the call.
    expect(started).toMatchObject({
      message: 'tool_invocation_started',
      correlation_id: completed?.['correlation_id'],
    });
    expect(completed).toMatchObject({ message: 'tool_invocation_completed' });
    return completed!;
  };
  const list = () => legacy(`http://127.0.0.1:${port}/mcp`, 'tools/list', {}, {});
  const steps = app.get<readonly NestInterceptor[]>(CALL_STEPS).map(({ constructor }) => constructor.name);
  return { steps, call, list, sink, version };
}

const GOOD = { identificador: 'V16760320' };
const MALFORMED = { identificador: 5 };

describe('the order of every call', () => {
  it('is audit, decide, validate, consume under a policy', async () => {
    const { steps } = await boot([toAna(['cliente.leer'], 'lector')]);
    expect(steps).toEqual(['AuditInterceptor', 'DecideInterceptor', 'ValidateInterceptor', 'ConsumeInterceptor']);
  });

  it('is audit, validate without one', async () => {
    const { steps, call } = await boot();
    expect(steps).toEqual(['AuditInterceptor', 'ValidateInterceptor']);
    expect(await call('consultar_cliente', MALFORMED)).toMatchObject({
      result: 'failure',
      reason: 'invalid_arguments',
    });
    expect(await call('nada', GOOD)).toMatchObject({ tool: 'unknown', reason: 'not_found' });
  });

  it('decides before it validates: who may not call does not learn whether the arguments were right', async () => {
    const { call } = await boot([toAna(['cliente.leer'], 'lector', { limits: { calls: 0, per: '1h' } })]);
    expect(await call('consultar_cliente', MALFORMED)).toMatchObject({ result: 'denied', reason: 'limit_exhausted' });
  });

  it('validates before it consumes, and consumes before the source is asked', async () => {
    const { call } = await boot([toAna(['cliente.leer'], 'lector', { limits: { calls: 1, per: '1h' } })]);
    for (let n = 0; n < 3; n++)
      expect(await call('consultar_cliente', MALFORMED)).toMatchObject({
        result: 'failure',
        reason: 'invalid_arguments',
      });
    // The source is down; the call that asked it is counted all the same.
    expect(await call('consultar_cliente', GOOD)).toMatchObject({ result: 'failure', account: 'lector' });
    expect(await call('consultar_cliente', GOOD)).toMatchObject({ result: 'denied', reason: 'limit_exhausted' });
  });

  it('has no place for a list, so one that is refused has a record of its own', async () => {
    const { list, sink, version } = await boot([toAna(['cliente.leer'], 'lector')]);
    const { json } = await list();
    expect(sink.records.filter(({ logger }) => logger === 'mcp_corp.audit')).toEqual([
      expect.objectContaining({
        ...{ message: 'list_refused', list: 'tools', result: 'denied', reason: 'credential_missing', principal: null },
        ...{ policy_version: version, correlation_id: json.error.data?.['request_id'] },
      }),
    ]);
  });
});
