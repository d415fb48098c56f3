import { Module, type DynamicModule } from '@nestjs/common';
import { ConnectorRegistry } from '../connectors/connector-registry.js';
import { JsonLogger } from '../logging/json-logger.js';
import { Catalogue } from '../mcp/catalogue.js';
import { CertificateHeader } from '../mcp/edge/certificate-header.js';
import { McpModule } from '../mcp/mcp.module.js';
import { CATALOGUE_SOURCES, CERTIFICATE_HEADER, CHALLENGER, VISIBILITY } from '../mcp/ports.js';
import { systemClock } from '../resilience/clock.js';
import type { Pseudonym } from './call-notes.js';
import { OAuthChallenger } from './challenge/oauth-challenger.js';
import type { Canonical, Policy } from './core/index.js';
import type { Current } from './current.js';
import { Gatekeeper } from './gatekeeper.js';
import { GovernanceSettings, IN_MEMORY } from './governance.settings.js';
import { boundedSender } from './outbound/bounded-request.js';
import { CREDENTIAL_RESOLVER, NOW, PRINCIPAL_RESOLVER, USAGE_STORE } from './ports.js';
import type { CredentialResolver, Now, PrincipalResolver, UsageStore } from './ports.js';
import { Issuers } from './principals/issuers.js';
import { MtlsIssuers } from './principals/mtls-issuers.js';
import { OidcIssuers } from './principals/oidc-issuers.js';
import { StaticKeys } from './principals/static-keys.js';
import { Recognition } from './recognition.js';
import { PolicyReload, type ReloadParts } from './reload.js';
import { AccountCredentials } from './secrets/account-credentials.js';
import { accountSecrets, issuerSecrets } from './secrets/schemes.js';
import type { Secrets } from './secrets/secret-text.js';
import type { ServedPolicy } from './served-policy.js';
import { ConsumeInterceptor, DecideInterceptor } from './steps.js';
import { MemoryUsage } from './usage/memory-usage.js';
import { RedisUsage } from './usage/redis-usage.js';
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
  /** Longest time of one call at a source, in milliseconds; undefined for a source that is not known. */
  readonly callDeadlineMs: (source: string) => number | undefined;
  /** Of a counter, where others can read its name; the same on every replica. */
  readonly fingerprint: (key: string) => string;
}

const LOGGER = 'mcp_corp.governance';

/** For the keys of issuers: one for all snapshots, so that a reload forgets nothing of a Vault. */
const ISSUER_SECRETS = Symbol('ISSUER_SECRETS');

interface ResolverParts {
  readonly secrets: Secrets;
  readonly now: Now;
  readonly logger: JsonLogger;
}

/** Who recognises callers by a policy: made anew for each one that is served. */
async function resolverOf(policy: Policy, { secrets, now, logger }: ResolverParts): Promise<Issuers> {
  const log = logger.eventLog(LOGGER);
  const issuers = [...policy.issuers.values()];
  const keys = new StaticKeys(issuers, secrets, log);
  const certificates = new MtlsIssuers(issuers, log);
  if (!issuers.some(({ kind }) => kind === 'oidc')) return new Issuers(keys, undefined, certificates);
  // Loaded only where a policy has such an issuer.
  const jose = await import('jose');
  return new Issuers(keys, new OidcIssuers(issuers, { send: boundedSender(), jose, now, log }), certificates);
}

/** Comes in: a compiled policy. Goes out: the two steps, and what lists are filtered with. Absent = open. */
@Module({})
export class GovernanceModule {
  static register({
    served,
    load,
    canonical,
    pseudonym,
    callDeadlineMs,
    fingerprint,
  }: GovernanceSurroundings): DynamicModule {
    return {
      module: GovernanceModule,
      imports: [McpModule],
      providers: [
        { provide: NOW, useValue: () => Date.now() },
        {
          provide: ISSUER_SECRETS,
          inject: [GovernanceSettings, NOW, JsonLogger],
          useFactory: (settings: GovernanceSettings, now: Now, logger: JsonLogger) =>
            issuerSecrets({ settings, now, log: logger.eventLog(LOGGER) }),
        },
        {
          provide: PRINCIPAL_RESOLVER,
          inject: [ISSUER_SECRETS, NOW, JsonLogger],
          useFactory: async (secrets: Secrets, now: Now, logger: JsonLogger) => {
            const issuers = await resolverOf(served.now.policy, { secrets, now, logger });
            await issuers.check(AbortSignal.timeout(START_MS));
            return issuers;
          },
        },
        {
          provide: CERTIFICATE_HEADER,
          inject: [GovernanceSettings],
          useFactory: ({ mtlsHeader, mtlsProxies = [] }: GovernanceSettings) =>
            mtlsHeader === undefined ? undefined : new CertificateHeader(mtlsHeader, mtlsProxies),
        },
        {
          provide: USAGE_STORE,
          inject: [GovernanceSettings, JsonLogger],
          useFactory: async ({ usageStore: url }: GovernanceSettings, logger: JsonLogger) => {
            if (url === IN_MEMORY) return new MemoryUsage();
            // Loaded only where it is configured.
            const redis = await import('@redis/client');
            return new RedisUsage({ redis, url, fingerprint, log: logger.eventLog(LOGGER), clock: systemClock });
          },
        },
        {
          provide: CREDENTIAL_RESOLVER,
          inject: [GovernanceSettings, NOW, JsonLogger],
          useFactory: (settings: GovernanceSettings, now: Now, logger: JsonLogger) =>
            new AccountCredentials(accountSecrets({ settings, now, log: logger.eventLog(LOGGER) })),
        },
        {
          provide: CHALLENGER,
          inject: [GovernanceSettings, Recognition, NOW, JsonLogger],
          useFactory: (
            { challenge, resourceUrl: resource }: GovernanceSettings,
            recognition: Recognition,
            now: Now,
            logger: JsonLogger,
          ) => {
            if (challenge !== 'oauth') return undefined;
            return new OAuthChallenger({ served, recognition, resource, now, log: logger.eventLog(LOGGER) });
          },
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
            new Gatekeeper({ served, recognition, usage, credentials, canonical, pseudonym, now, callDeadlineMs }),
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
          inject: [GovernanceSettings, Upstreams, Catalogue, ISSUER_SECRETS, NOW, JsonLogger],
          useFactory: (
            { mtlsHeader }: GovernanceSettings,
            upstreams: Upstreams,
            catalogue: Catalogue,
            secrets: Secrets,
            now: Now,
            logger: JsonLogger,
          ) =>
            new PolicyReload({
              ...{ current: served, log: logger.eventLog(LOGGER) },
              load: load ?? (() => Promise.reject(new Error('this policy is not read again'))),
              resolverOf: (policy) => resolverOf(policy, { secrets, now, logger }),
              certificates: mtlsHeader !== undefined,
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
