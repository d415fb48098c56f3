import type { NestInterceptor } from '@nestjs/common';
import { stringify } from 'yaml';
import { canonicalBy } from '../../src/app.module.js';
import { CLIENTES } from '../../src/clientes/clientes.module.js';
import { IdentifierReader } from '../../src/clientes/identifier-reader.js';
import { IdentifiersSettings } from '../../src/clientes/identifiers.settings.js';
import type { CredentialResolver, UsageStore } from '../../src/governance/ports.js';
import { Gatekeeper, type GatekeeperParts } from '../../src/governance/gatekeeper.js';
import { localCatalogue } from '../../src/governance/local-catalogue.js';
import { loadPolicy } from '../../src/governance/policy-file/load-policy.js';
import { StaticKeys } from '../../src/governance/principals/static-keys.js';
import { Recognition } from '../../src/governance/recognition.js';
import { AccountCredentials } from '../../src/governance/secrets/account-credentials.js';
import { envSecret } from '../../src/governance/secrets/env-secret.js';
import { fileSecret } from '../../src/governance/secrets/file-secret.js';
import { Secrets } from '../../src/governance/secrets/secret-text.js';
import { ConsumeInterceptor, DecideInterceptor } from '../../src/governance/steps.js';
import { MemoryUsage } from '../../src/governance/usage/memory-usage.js';
import { GovernedVisibility } from '../../src/governance/visibility.js';
import type { EventLog, Fields } from '../../src/logging/event-log.js';
import type { Clock } from '../../src/resilience/clock.js';
import type { RunOptions } from '../../src/resilience/connector.js';
import { VISIBILITY } from '../../src/mcp/ports.js';
import { ClientesQueries } from '../../src/sources/postgres/clientes.queries.js';
import { SaldosClient } from '../../src/sources/saldo-api/saldos.client.js';
import { bootMcp, type McpApp } from './mcp-app.js';

/** What a source was asked, and with which account. */
export interface Asked {
  readonly source: 'postgres' | 'saldo_api';
  readonly cedula: string;
  readonly account: RunOptions['account'];
  readonly deadline?: number;
}

export interface GovernedApp extends McpApp {
  readonly asked: Asked[];
  readonly logged: { readonly event: string; readonly fields: Fields }[];
  /** References of the secrets that were read, in order. */
  readonly secretsRead: string[];
  /** Milliseconds since the epoch, as governance sees it. */
  now: number;
}

export interface GovernedOptions {
  /** The artefact: a document, or its very text. */
  readonly policy: unknown;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly usage?: UsageStore;
  readonly clock?: Clock;
  readonly credentials?: CredentialResolver;
  readonly callDeadlineMs?: GatekeeperParts['callDeadlineMs'];
}

/** The three tools, the resource and the prompt of the product, with sources that answer at once, under a policy. */
export async function bootGoverned(options: GovernedOptions): Promise<GovernedApp> {
  const { policy, env = {}, usage, clock, credentials, callDeadlineMs } = options;
  const text = typeof policy === 'string' ? policy : stringify(policy, { aliasDuplicateObjects: false });
  const loaded = loadPolicy(text, { catalogue: { local: localCatalogue(CLIENTES) }, purpose: 'serve' });
  if (loaded.policy === undefined)
    throw new Error(loaded.diagnostics.map(({ code, path, message }) => `${code} ${path} ${message}`).join('\n'));
  const served = { policy: loaded.policy, version: loaded.version, locate: loaded.locate };

  const asked: Asked[] = [];
  const answer =
    (source: Asked['source'], of: (cedula: string) => object) =>
    async (cedula: string, { account, deadline, touched }: RunOptions): Promise<object> => {
      touched?.();
      asked.push({ source, cedula, account, ...(deadline !== undefined && { deadline }) });
      return of(cedula);
    };
  const logged: GovernedApp['logged'][number][] = [];
  const log: EventLog = {
    debug: (event, fields = {}) => void logged.push({ event, fields }),
    info: (event, fields = {}) => void logged.push({ event, fields }),
    warning: (event, fields = {}) => void logged.push({ event, fields }),
    error: (event, fields = {}) => void logged.push({ event, fields }),
  };
  const secretsRead: string[] = [];
  const file = fileSecret();
  const secrets = new Secrets({
    env: (name, signal) => {
      secretsRead.push(`env://${name}`);
      return envSecret((variable) => env[variable])(name, signal);
    },
    file: (path, signal) => {
      secretsRead.push(`file://${path}`);
      return file(path, signal);
    },
  });
  const canonical = canonicalBy();
  const recognition = new Recognition(served, new StaticKeys(served.policy.issuers.values(), secrets, log), canonical);
  const time = { now: Date.UTC(2026, 0, 1) };
  const gatekeeper = new Gatekeeper({
    ...{ served, recognition, canonical },
    usage: usage ?? new MemoryUsage(),
    credentials: credentials ?? new AccountCredentials(secrets),
    pseudonym: (text) => `seudónimo de ${text.length}:${text.slice(-2)}`,
    now: () => time.now,
    ...(clock && { clock }),
    ...(callDeadlineMs && { callDeadlineMs }),
  });
  const app = await bootMcp({
    classes: CLIENTES,
    providers: [
      { provide: IdentifiersSettings, useValue: new IdentifiersSettings() },
      IdentifierReader,
      {
        provide: ClientesQueries,
        useValue: {
          porCedula: answer('postgres', (cedula) => ({
            ...{ cedula, nombre: 'Ana Prueba', email: 'ana@example.com', estado: 'activo' },
          })),
        },
      },
      {
        provide: SaldosClient,
        useValue: { porCedula: answer('saldo_api', (cedula) => ({ cedula, saldo: 10.5, moneda: 'VES' })) },
      },
      { provide: VISIBILITY, useValue: new GovernedVisibility(served, recognition, () => time.now, log) },
    ],
    steps: (validate, witness): readonly NestInterceptor[] => [
      witness,
      new DecideInterceptor(gatekeeper),
      validate,
      new ConsumeInterceptor(gatekeeper),
    ],
  });
  return Object.defineProperties(
    { ...app, asked, logged, secretsRead, now: 0 },
    { now: { get: () => time.now, set: (at: number) => (time.now = at) } },
  );
}
