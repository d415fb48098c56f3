import { Module, type DynamicModule } from '@nestjs/common';
import { environmentSecrets } from '../config/environment-secrets.js';
import { ConnectorRegistry } from '../connectors/connector-registry.js';
import { JsonLogger } from '../logging/json-logger.js';
import { Catalogue } from '../mcp/catalogue.js';
import { McpModule } from '../mcp/mcp.module.js';
import { CATALOGUE_SOURCES, VISIBILITY } from '../mcp/ports.js';
import type { Pseudonym } from './call-notes.js';
import type { Canonical, Policy } from './core/index.js';
import type { Current } from './current.js';
import { Gatekeeper } from './gatekeeper.js';
import { CREDENTIAL_RESOLVER, NOW, PRINCIPAL_RESOLVER, USAGE_STORE } from './ports.js';
import type { CredentialResolver, Now, PrincipalResolver, UsageStore } from './ports.js';
import { StaticKeys } from './principals/static-keys.js';
import { Recognition } from './recognition.js';
import { PolicyReload, type ReloadParts } from './reload.js';
import { AccountCredentials } from './secrets/account-credentials.js';
import { envSecret } from './secrets/env-secret.js';
import { fileSecret } from './secrets/file-secret.js';
import { Secrets } from './secrets/secret-text.js';
import type { ServedPolicy } from './served-policy.js';
import { ConsumeInterceptor, DecideInterceptor } from './steps.js';
import { MemoryUsage } from './usage/memory-usage.js';
import { endpoints } from './upstreams/endpoints.js';
import { Upstreams } from './upstreams/upstreams.js';
import { UpstreamsSettings } from './upstreams/upstreams.settings.js';
import { remoteUpstreams } from './upstreams/upstream-tools.js';
import { GovernedVisibility } from './visibility.js';

/** What governance asks other folders for. */
export interface GovernanceSurroundings {
  readonly served: Current<ServedPolicy>;
  /** How the policy is read again; absent = never. */
  readonly load?: ReloadParts['load'];
  /** The canonical short form of an identifier; undefined when the text is none. */
  readonly canonical: Canonical;
  /** Of a canonical identifier; the audit's. */
  readonly pseudonym: Pseudonym;
}

const LOGGER = 'mcp_corp.governance';

/** Who recognises callers by a policy: made anew for each one that is served. */
const resolverOf = (policy: Policy, secrets: Secrets, logger: JsonLogger): StaticKeys =>
  new StaticKeys(policy.issuers.values(), secrets, logger.eventLog(LOGGER));

/** Comes in: a compiled policy. Goes out: the two steps, and what lists are filtered with. Absent = open. */
@Module({})
export class GovernanceModule {
  static register({ served, load, canonical, pseudonym }: GovernanceSurroundings): DynamicModule {
    return {
      module: GovernanceModule,
      imports: [McpModule],
      providers: [
        { provide: NOW, useValue: () => Date.now() },
        {
          provide: Secrets,
          useFactory: () => new Secrets({ env: envSecret(environmentSecrets()), file: fileSecret() }),
        },
        {
          provide: PRINCIPAL_RESOLVER,
          inject: [Secrets, JsonLogger],
          useFactory: async (secrets: Secrets, logger: JsonLogger) => {
            const keys = resolverOf(served.now.policy, secrets, logger);
            await keys.check(AbortSignal.timeout(START_MS));
            return keys;
          },
        },
        { provide: USAGE_STORE, useFactory: () => new MemoryUsage() },
        {
          provide: CREDENTIAL_RESOLVER,
          inject: [Secrets],
          useFactory: (secrets: Secrets) => new AccountCredentials(secrets),
        },
        {
          provide: Recognition,
          inject: [PRINCIPAL_RESOLVER],
          useFactory: (resolver: PrincipalResolver) => new Recognition(served, resolver, canonical),
        },
        {
          provide: Gatekeeper,
          inject: [Recognition, USAGE_STORE, CREDENTIAL_RESOLVER, NOW],
          useFactory: (recognition: Recognition, usage: UsageStore, credentials: CredentialResolver, now: Now) =>
            new Gatekeeper({ served, recognition, usage, credentials, canonical, pseudonym, now }),
        },
        {
          provide: VISIBILITY,
          inject: [Recognition, NOW, JsonLogger],
          useFactory: (recognition: Recognition, now: Now, logger: JsonLogger) =>
            new GovernedVisibility(served, recognition, now, logger.eventLog(LOGGER)),
        },
        {
          provide: Upstreams,
          inject: [UpstreamsSettings, ConnectorRegistry, JsonLogger],
          useFactory: (settings: UpstreamsSettings, registry: ConnectorRegistry, logger: JsonLogger) =>
            new Upstreams({
              ...{ settings, registry, endpointOf: endpoints(settings) },
              upstreams: remoteUpstreams(served.now.policy),
              tools: served.now.tools ?? new Map(),
              log: logger.eventLog(LOGGER),
              connectorLog: logger.eventLog('mcp_corp.connectors'),
            }),
        },
        { provide: CATALOGUE_SOURCES, inject: [Upstreams], useFactory: (upstreams: Upstreams) => [upstreams] },
        {
          provide: PolicyReload,
          inject: [Upstreams, Catalogue, Secrets, JsonLogger],
          useFactory: (upstreams: Upstreams, catalogue: Catalogue, secrets: Secrets, logger: JsonLogger) =>
            new PolicyReload({
              ...{ current: served, log: logger.eventLog(LOGGER) },
              load: load ?? (() => Promise.reject(new Error('this policy is not read again'))),
              resolverOf: (policy) => resolverOf(policy, secrets, logger),
              prepare: (tools) => catalogue.prepare(upstreams.entriesOf(tools)),
              served: ({ policy, tools = new Map() }) => upstreams.serve(tools, policy),
            }),
        },
        DecideInterceptor,
        ConsumeInterceptor,
      ],
      exports: [DecideInterceptor, ConsumeInterceptor, PolicyReload],
    };
  }
}

/** Longest look at the keys before the port is bound, in milliseconds. */
const START_MS = 5_000;
