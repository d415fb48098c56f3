import { Module, type DynamicModule } from '@nestjs/common';
import { environmentSecrets } from '../config/environment-secrets.js';
import { JsonLogger } from '../logging/json-logger.js';
import { VISIBILITY } from '../mcp/ports.js';
import type { Pseudonym } from './call-notes.js';
import type { Canonical } from './core/index.js';
import { Gatekeeper } from './gatekeeper.js';
import { CREDENTIAL_RESOLVER, NOW, PRINCIPAL_RESOLVER, USAGE_STORE } from './ports.js';
import type { CredentialResolver, Now, PrincipalResolver, UsageStore } from './ports.js';
import { StaticKeys } from './principals/static-keys.js';
import { Recognition } from './recognition.js';
import { AccountCredentials } from './secrets/account-credentials.js';
import { envSecret } from './secrets/env-secret.js';
import { fileSecret } from './secrets/file-secret.js';
import { Secrets } from './secrets/secret-text.js';
import type { ServedPolicy } from './served-policy.js';
import { ConsumeInterceptor, DecideInterceptor } from './steps.js';
import { MemoryUsage } from './usage/memory-usage.js';
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
}

const LOGGER = 'mcp_corp.governance';

/** Comes in: a compiled policy. Goes out: the two steps, and what lists are filtered with. Absent = open. */
@Module({})
export class GovernanceModule {
  static register({ served, canonical, pseudonym, callDeadlineMs }: GovernanceSurroundings): DynamicModule {
    return {
      module: GovernanceModule,
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
            const keys = new StaticKeys(served.policy.issuers.values(), secrets, logger.eventLog(LOGGER));
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
