import { Module, type DynamicModule } from '@nestjs/common';
import { JsonLogger } from '../logging/json-logger.js';
import { VISIBILITY } from '../mcp/ports.js';
import { CERTIFICATE_HEADER, CHALLENGER } from '../mcp/ports.js';
import { CertificateHeader } from '../mcp/edge/certificate-header.js';
import { systemClock } from '../resilience/clock.js';
import type { Pseudonym } from './call-notes.js';
import { OAuthChallenger } from './challenge/oauth-challenger.js';
import type { Canonical } from './core/index.js';
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
import { AccountCredentials } from './secrets/account-credentials.js';
import { accountSecrets, issuerSecrets } from './secrets/schemes.js';
import type { ServedPolicy } from './served-policy.js';
import { ConsumeInterceptor, DecideInterceptor } from './steps.js';
import { MemoryUsage } from './usage/memory-usage.js';
import { RedisUsage } from './usage/redis-usage.js';
import { GovernedVisibility } from './visibility.js';

/** What governance asks other folders for. */
export interface GovernanceSurroundings {
  readonly served: ServedPolicy;
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

const OIDC_ISSUERS = Symbol('OIDC_ISSUERS');

/** Comes in: a compiled policy. Goes out: the two steps, and what lists are filtered with. Absent = open. */
@Module({})
export class GovernanceModule {
  static register({
    served,
    canonical,
    pseudonym,
    callDeadlineMs,
    fingerprint,
  }: GovernanceSurroundings): DynamicModule {
    return {
      module: GovernanceModule,
      providers: [
        { provide: NOW, useValue: () => Date.now() },
        {
          provide: OIDC_ISSUERS,
          inject: [NOW, JsonLogger],
          useFactory: async (now: Now, logger: JsonLogger) => {
            const issuers = [...served.policy.issuers.values()];
            if (!issuers.some(({ kind }) => kind === 'oidc')) return undefined;
            // Loaded only where a policy has such an issuer.
            const jose = await import('jose');
            return new OidcIssuers(issuers, { send: boundedSender(), jose, now, log: logger.eventLog(LOGGER) });
          },
        },
        {
          provide: PRINCIPAL_RESOLVER,
          inject: [GovernanceSettings, OIDC_ISSUERS, NOW, JsonLogger],
          useFactory: async (
            settings: GovernanceSettings,
            tokens: OidcIssuers | undefined,
            now: Now,
            logger: JsonLogger,
          ) => {
            const log = logger.eventLog(LOGGER);
            const issuers = [...served.policy.issuers.values()];
            const keys = new StaticKeys(issuers, issuerSecrets({ settings, now, log }), log);
            await keys.check(AbortSignal.timeout(START_MS));
            return new Issuers(keys, tokens, new MtlsIssuers(issuers, log));
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
          inject: [GovernanceSettings, Recognition, OIDC_ISSUERS, NOW, JsonLogger],
          useFactory: (
            { challenge, resourceUrl: resource }: GovernanceSettings,
            recognition: Recognition,
            tokens: OidcIssuers | undefined,
            now: Now,
            logger: JsonLogger,
          ) => {
            if (challenge !== 'oauth') return undefined;
            return new OAuthChallenger({ served, recognition, tokens, resource, now, log: logger.eventLog(LOGGER) });
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
        DecideInterceptor,
        ConsumeInterceptor,
      ],
      exports: [DecideInterceptor, ConsumeInterceptor],
    };
  }
}

/** Longest look at the keys before the port is bound, in milliseconds. */
const START_MS = 5_000;
