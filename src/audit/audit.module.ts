import { Module, type DynamicModule } from '@nestjs/common';
import { ServiceSettings } from '../config/service.settings.js';
import type { EventLog } from '../logging/event-log.js';
import { FileSink } from '../logging/file-sink.js';
import { JsonLogger } from '../logging/json-logger.js';
import type { LineSink } from '../logging/line-sink.js';
import type { McpCall } from '../mcp/call.js';
import { CALL_OBSERVER, type CallObserver } from '../mcp/ports.js';
import type { Members } from './audit-record.js';
import { AuditInterceptor } from './audit.interceptor.js';
import { AuditSettings } from './audit.settings.js';
import { AuditTrail } from './audit-trail.js';
import { Pseudonyms } from './pseudonym.js';
import { TrailGap } from './trail-gap.js';

const LOGGER = 'mcp_corp.audit';

/** What the process has and the audit writes to. */
export interface AuditOutputs {
  /** The sink of stdout that the log uses too: one order, one bound. Unused with `AUDIT__FILE`. */
  readonly standardOutput: LineSink;
  /** Where it is told that the trail cannot be written: stderr, never the trail's own sink. */
  readonly elsewhere: EventLog;
  /** Name of this process among its replicas, such as the host name. */
  readonly replica: string;
  /** Facts of the moment for the start of each call. */
  readonly startFacts?: () => Readonly<Record<string, string>>;
}

@Module({})
export class AuditModule {
  /** Building it opens `AUDIT__FILE` (throws FileSinkError: the process cannot start without its audit). */
  static register(outputs: AuditOutputs): DynamicModule {
    return {
      module: AuditModule,
      providers: [
        {
          provide: AuditTrail,
          inject: [AuditSettings, ServiceSettings, JsonLogger, { token: CALL_OBSERVER, optional: true }],
          useFactory: (
            settings: AuditSettings,
            service: ServiceSettings,
            logger: JsonLogger,
            observer?: CallObserver,
          ) =>
            new AuditTrail({
              sink: settings.file === undefined ? outputs.standardOutput : FileSink.open(settings.file),
              format: (event, members, call) => recordLine(logger, event, members, call),
              pseudonyms: pseudonymsOf(settings, service, logger.eventLog(LOGGER)),
              gap: new TrailGap(outputs.elsewhere),
              production: service.environment === 'production',
              replica: outputs.replica,
              observer,
              ...(outputs.startFacts && { startFacts: outputs.startFacts }),
            }),
        },
        AuditInterceptor,
      ],
      exports: [AuditTrail, AuditInterceptor],
    };
  }
}

function pseudonymsOf(settings: AuditSettings, service: ServiceSettings, log: EventLog): Pseudonyms {
  const { hmacSecret = '', hmacSecretPrevious } = settings;
  if (hmacSecret === '') {
    // The settings refuse this before; a second lock, because nothing could repair records written that way.
    if (service.environment === 'production') throw new Error('production needs the key of the pseudonyms');
    log.warning('audit_hmac_secret_not_configured', {
      detail:
        'sin clave, cualquiera puede reproducir los seudónimos de la auditoría; solo se admite fuera de producción',
    });
  }
  return new Pseudonyms(hmacSecret, hmacSecretPrevious);
}

/** The log's envelope around the record. Not through `record`: the level of the log never silences the audit. */
export function recordLine(
  logger: JsonLogger,
  event: string,
  members: Members,
  call?: Pick<McpCall, 'correlationId' | 'traceId'>,
): string {
  return `${logger.format('INFO', LOGGER, event, undefined, call ?? null).slice(0, -1)},${members}}`;
}
