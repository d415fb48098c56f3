import { createHmac } from 'node:crypto';
import { Global, Module, type DynamicModule, type NestInterceptor, type Provider, type Type } from '@nestjs/common';
import { AuditTrail } from './audit/audit-trail.js';
import { AuditInterceptor } from './audit/audit.interceptor.js';
import { AuditModule, type AuditOutputs } from './audit/audit.module.js';
import { AuditSettings } from './audit/audit.settings.js';
import { Pseudonyms } from './audit/pseudonym.js';
import { ClientesModule } from './clientes/clientes.module.js';
import type { SectionClass } from './config/section.js';
import { ServiceSettings } from './config/service.settings.js';
import type { Settings } from './config/settings.js';
import { SettingsModule } from './config/settings.module.js';
import { ConnectorRegistry } from './connectors/connector-registry.js';
import { ConnectorsModule } from './connectors/connectors.module.js';
import type { SourceDefinition } from './connectors/source.js';
import { GovernanceModule } from './governance/governance.module.js';
import { GovernanceSettings } from './governance/governance.settings.js';
import { localCatalogue } from './governance/local-catalogue.js';
import type { Canonical, CatalogueItem } from './governance/core/index.js';
import { currentOf, type Current } from './governance/current.js';
import type { ReloadParts } from './governance/reload.js';
import type { ServedPolicy } from './governance/served-policy.js';
import { ConsumeInterceptor, DecideInterceptor } from './governance/steps.js';
import { remoteUpstreams } from './governance/upstreams/upstream-tools.js';
import { UpstreamsSettings } from './governance/upstreams/upstreams.settings.js';
import { DiagnosticsSettings } from './health/diagnostics.settings.js';
import { POLICY_VERSION } from './health/health.controller.js';
import { HealthModule } from './health/health.module.js';
import type { JsonLogger } from './logging/json-logger.js';
import { LoggingModule } from './logging/logging.module.js';
import { CALL_LIMIT, CREDENTIAL_HEADER } from './mcp/bindings.js';
import { CallGate } from './mcp/call-gate.js';
import { compose, type Composition } from './mcp/composition.js';
import { HttpSettings } from './mcp/http.settings.js';
import { McpModule } from './mcp/mcp.module.js';
import { CALL_STEPS, LIST_JOURNAL, type ListJournal } from './mcp/ports.js';
import { ValidateInterceptor } from './mcp/validate.interceptor.js';
import { MetricsSettings } from './observability/metrics.settings.js';
import type { Observability } from './observability/observability.js';
import { ObservabilityModule } from './observability/observability.module.js';
import { TracingSettings } from './observability/tracing.settings.js';
import { POSTGRES } from './sources/postgres/postgres.module.js';
import { SALDO_API } from './sources/saldo-api/saldo-api.module.js';

/** Whom we talk to: adding a source is one folder under `sources/` and one line here (docs/add-a-source.md). */
export const SOURCES: readonly SourceDefinition[] = [POSTGRES, SALDO_API];

/** The module of a folder of business: its tools, resources and prompts, and the settings that are its own. */
export interface BusinessModule {
  readonly classes: readonly Type[];
  readonly sections: readonly SectionClass[];
  /**
   * How this business reads the identifier of a person: a policy that binds subjects compares canonical forms. Absent
   * where calls are about nobody. Without settings by their defaults.
   */
  canonical?(settings?: Settings): (text: string) => string | undefined;
  /** `classes`: those whose sources are enabled. `sources`: the modules of those sources. */
  register(classes: readonly Type[], sources: Type[]): DynamicModule;
}

/** What we are asked: a business is one folder and one line here (docs/clone.md). */
export const BUSINESS: readonly BusinessModule[] = [ClientesModule];

/** What an application is composed of. The benchmark serves other parts under the same roof. */
export interface Parts {
  readonly sources: readonly SourceDefinition[];
  readonly business: readonly BusinessModule[];
}

export const PARTS: Parts = { sources: SOURCES, business: BUSINESS };

/** Every block of variables there is, in the order of the configuration reference. */
export function sectionsOf({ sources, business }: Parts): readonly SectionClass[] {
  return [
    ServiceSettings,
    HttpSettings,
    AuditSettings,
    DiagnosticsSettings,
    MetricsSettings,
    TracingSettings,
    GovernanceSettings,
    UpstreamsSettings,
    ...sources.map(({ section }) => section),
    ...business.flatMap(({ sections }) => sections),
  ];
}

export const SECTIONS: readonly SectionClass[] = sectionsOf(PARTS);

/** Calls that may be in flight for each slot at a source, unless `HTTP__MAX_CALLS` says otherwise. */
const CALLS_PER_SLOT = 10;

/** What the process has before there is an application. */
export interface Surroundings extends AuditOutputs {
  readonly logger: JsonLogger;
  /** What callers are governed by; absent = open. */
  readonly served?: ServedPolicy | Current<ServedPolicy>;
  /** Metrics and traces; absent = neither. */
  readonly observability?: Observability;
  /** How that is read again. */
  readonly reload?: ReloadParts['load'];
}

export function enabledSources(settings: Settings, { sources }: Parts = PARTS): readonly SourceDefinition[] {
  return sources.filter(({ section }) => settings.get(section).enabled);
}

/** Which tools, resources and prompts the enabled sources allow, and which not. */
export function composition(settings: Settings, parts: Parts = PARTS): Composition {
  return compose(
    parts.business.flatMap(({ classes }) => classes),
    new Set(enabledSources(settings, parts).map(({ name }) => name)),
  );
}

/** What a policy may map: everything that the product itself has, whatever sources are enabled. */
export const governable = ({ business }: Parts = PARTS): readonly CatalogueItem[] =>
  localCatalogue(business.flatMap(({ classes }) => classes));

/**
 * The canonical short form of an identifier as the first business that knows it reads it; undefined when the text is none.
 * Without settings by their defaults, as in a dry run.
 */
export function canonicalBy({ business }: Parts = PARTS, settings?: Settings): Canonical {
  const readers = business.flatMap((of) => of.canonical?.(settings) ?? []);
  return (text) => {
    for (const read of readers) {
      const canonical = read(text);
      if (canonical !== undefined) return canonical;
    }
    return undefined;
  };
}

function governance(
  settings: Settings,
  served: Current<ServedPolicy>,
  parts: Parts,
  load?: ReloadParts['load'],
): DynamicModule {
  const secret = settings.get(AuditSettings).hmacSecret ?? '';
  const pseudonyms = new Pseudonyms(secret);
  const pseudonym = (canonical: string): string => String(pseudonyms.fields(canonical).identifier);
  const { serviceName } = settings.get(ServiceSettings);
  // Wider than a pseudonym of the audit: two callers must not share a counter by chance.
  const fingerprint = (key: string): string =>
    createHmac('sha256', secret).update(`mcp-corp/usage\0${serviceName}\0${key}`).digest('base64url');
  const ofUpstreams = settings.get(UpstreamsSettings).executorSettings().callDeadlineMs;
  const deadlines = new Map([
    ...enabledSources(settings, parts).map(
      ({ name, section }) => [name, settings.get(section).executorSettings().callDeadlineMs] as const,
    ),
    // Those of the start: a reload brings no other.
    ...[...remoteUpstreams(served.now.policy).keys()].map((name) => [name, ofUpstreams] as const),
  ]);
  const callDeadlineMs = (source: string): number | undefined => deadlines.get(source);
  return GovernanceModule.register({
    served,
    load,
    canonical: canonicalBy(parts, settings),
    pseudonym,
    callDeadlineMs,
    fingerprint,
  });
}

/** Told, once the application is built, what there is to be looked at for the metrics. */
const FIGURES = Symbol('FIGURES');

function figuresFor({ metrics }: Observability): Provider[] {
  if (metrics === undefined) return [];
  const useFactory = (registry: ConnectorRegistry, trail: AuditTrail, gate: CallGate) =>
    metrics.attach({
      sources: () => registry.figures(),
      trail: () => trail.figures(),
      inFlight: () => gate.inFlight,
    });
  return [{ provide: FIGURES, inject: [ConnectorRegistry, AuditTrail, CallGate], useFactory }];
}

/** What /health says of the policy. Global: `health` knows nobody. */
@Global()
@Module({})
class PolicyVersionModule {
  static register(served: Current<ServedPolicy>): DynamicModule {
    const version = { provide: POLICY_VERSION, useValue: () => served.now.version };
    return { module: PolicyVersionModule, providers: [version], exports: [POLICY_VERSION] };
  }
}

/** The walk of one call, as a list. */
@Module({})
export class AppModule {
  static register(
    settings: Settings,
    { logger, served: given, reload, observability, ...outputs }: Surroundings,
    parts: Parts = PARTS,
  ): DynamicModule {
    const enabled = enabledSources(settings, parts);
    const sources = enabled.map(({ module }) => module);
    const constructed = new Set(composition(settings, parts).constructed);
    const served = given && currentOf(given);
    const remote = served === undefined ? 0 : remoteUpstreams(served.now.policy).size;
    const local = enabled.reduce((sum, { section }) => sum + settings.get(section).maxConcurrency, 0);
    const slots = local + remote * settings.get(UpstreamsSettings).maxConcurrency;
    const startFacts = served && ((): Readonly<Record<string, string>> => ({ policy_version: served.now.version }));
    return {
      module: AppModule,
      imports: [
        SettingsModule.register(settings),
        LoggingModule.register(logger),
        ...(observability === undefined ? [] : [ObservabilityModule.register(observability)]),
        McpModule,
        AuditModule.register({ ...outputs, ...(startFacts && { startFacts }) }),
        ...(served === undefined
          ? []
          : [PolicyVersionModule.register(served), governance(settings, served, parts, reload)]),
        ...parts.business.map((business) =>
          business.register(
            business.classes.filter((type) => constructed.has(type)),
            sources,
          ),
        ),
        ...sources,
        ConnectorsModule,
        HealthModule,
      ],
      providers: [
        {
          // The order of every call; a list, because the order of modules decides that of APP_INTERCEPTOR.
          provide: CALL_STEPS,
          inject:
            served === undefined
              ? [AuditInterceptor, ValidateInterceptor]
              : [AuditInterceptor, DecideInterceptor, ValidateInterceptor, ConsumeInterceptor],
          useFactory: (...steps: NestInterceptor[]) => steps,
        },
        {
          provide: LIST_JOURNAL,
          inject: [AuditTrail],
          useFactory: (trail: AuditTrail): ListJournal => {
            const notes = served && (() => ({ principal: null, policy_version: served.now.version }));
            return { refused: (list) => trail.refusedList({ ...list, ...(notes && { notes: notes() }) }) };
          },
        },
        { provide: CREDENTIAL_HEADER, useValue: settings.get(GovernanceSettings).keyHeader },
        ...(observability === undefined ? [] : figuresFor(observability)),
        ...(slots > 0 ? [{ provide: CALL_LIMIT, useValue: slots * CALLS_PER_SLOT }] : []),
      ],
    };
  }
}
