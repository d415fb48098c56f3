import { IsIn, Matches, Max, MaxLength, Min } from 'class-validator';
import { Setting } from './setting.js';
import { ToInteger, ToNumber, ToUpperCase } from './transforms.js';

export const ENVIRONMENTS = ['local', 'staging', 'production'] as const;
export type Environment = (typeof ENVIRONMENTS)[number];

/** Python's names, its aliases included, as the reference accepts them. */
export const LOG_LEVELS = ['DEBUG', 'INFO', 'WARNING', 'WARN', 'ERROR', 'CRITICAL', 'FATAL', 'NOTSET'] as const;
export type LogLevelName = (typeof LOG_LEVELS)[number];

/** The top level: who the process is, where it listens, how it stops. */
export class ServiceSettings {
  static readonly section = '';
  static readonly title = 'Service';

  @Setting({ doc: 'Name in the logs, in the bodies of /health and /ready, in serverInfo and as application_name.' })
  @MaxLength(63)
  @Matches(/^(?=.*\S)[^\p{Cc}]+$/u, { message: 'must not be blank and must not contain control characters' })
  serviceName = 'mcp-corp';

  @Setting({ doc: 'Where this replica runs; production refuses to start on anything unsafe.' })
  @IsIn(ENVIRONMENTS)
  environment: Environment = 'local';

  @Setting({ doc: 'Interface to listen on.' })
  @Matches(/^[A-Za-z0-9._:%-]+$/, { message: 'must be an IP address or a host name' })
  @MaxLength(253)
  host = '0.0.0.0';

  @Setting({ doc: 'Port to listen on; 0 takes any free one.' })
  @ToInteger()
  @Min(0)
  @Max(65_535)
  port = 8000;

  @Setting({ doc: 'Least severe level that is written (WARN, FATAL and NOTSET are accepted as in Python).' })
  @ToUpperCase()
  @IsIn(LOG_LEVELS)
  logLevel: LogLevelName = 'INFO';

  @Setting({ doc: 'After a stop signal, calls in flight are cut when this time is over.', unit: 'seconds' })
  @ToNumber()
  @Min(0)
  @Max(3600)
  gracefulShutdownTimeoutSeconds = 10;

  @Setting({
    doc: 'After a stop signal, time to keep serving with /ready at 503, so that balancers look away.',
    unit: 'seconds',
  })
  @ToNumber()
  @Min(0)
  @Max(600)
  drainSeconds = 5;

  @Setting({
    doc: 'Largest number of replicas that will run; ceilings per source are divided by it.',
    unit: 'replicas',
  })
  @ToInteger()
  @Min(1)
  @Max(10_000)
  replicas = 1;
}
