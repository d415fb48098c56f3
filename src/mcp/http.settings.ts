import { ArrayMaxSize, Matches, Max, MaxLength, Min } from 'class-validator';
import type { ConfigProblem, CrossCheckContext } from '../config/problem.js';
import { Setting, variableOf } from '../config/setting.js';
import { ToInteger, ToList } from '../config/transforms.js';
import { MinBytes } from '../config/validators.js';

/** Names of this machine to itself, as they stand in a Host header without its port. */
export const LOOPBACK_HOSTS: readonly string[] = Object.freeze(['localhost', '127.0.0.1', '[::1]']);

/** The edge of /mcp. The health routes are outside of it. */
export class HttpSettings {
  static readonly section = 'HTTP';
  static readonly title = 'HTTP edge';

  @Setting({ doc: 'Largest request body; a larger one is answered 413.', unit: 'bytes' })
  @ToInteger()
  @Min(1024)
  @Max(67_108_864)
  maxBodyBytes = 1_048_576;

  @Setting({
    doc: 'Calls that may be in flight in this replica; beyond it 503 with Retry-After.',
    unit: 'calls',
    defaultDoc: '10 × the sum of the concurrencies of the enabled sources',
  })
  @ToInteger()
  @Min(1)
  @Max(1_000_000)
  maxCalls?: number;

  @Setting({
    doc: 'Host names that /mcp answers to (no scheme; a port only when it must match). Must be set in production.',
  })
  @ToList()
  @ArrayMaxSize(100)
  @Matches(/^(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?$/, {
    each: true,
    message: 'must list host names, each with a port or without, such as mcp.example.com',
  })
  allowedHosts: readonly string[] = LOOPBACK_HOSTS;

  @Setting({
    doc: 'Exact origins that browsers may call /mcp from; only these get CORS headers.',
    defaultDoc: 'origins of loopback names are let in, and nobody gets CORS headers',
  })
  @ToList()
  @ArrayMaxSize(100)
  @Matches(/^https?:\/\/(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?$/, {
    each: true,
    message: 'must list exact origins: scheme, host and port, nothing after them',
  })
  allowedOrigins?: readonly string[];

  @Setting({ doc: 'Key that signs requestState, where it is used; the same on all replicas.', secret: true })
  @MinBytes(32)
  @MaxLength(4096)
  stateSecret?: string;

  crossCheck({ production }: CrossCheckContext): ConfigProblem[] {
    // The very same object as the default: nobody has written the hosts down.
    if (!production || this.allowedHosts !== LOOPBACK_HOSTS) return [];
    return [
      {
        variable: variableOf(HttpSettings, 'allowedHosts'),
        problem: 'must be set in production: the names under which clients reach this server',
      },
    ];
  }
}
