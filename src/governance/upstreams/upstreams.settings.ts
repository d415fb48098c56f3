import { Max, Min } from 'class-validator';
import { Setting } from '../../config/setting.js';
import { ToInteger, ToNumber } from '../../config/transforms.js';
import { ResilienceSettings } from '../../connectors/resilience-settings.js';

/** What holds for each upstream MCP server of a policy: each has an executor of its own with these limits. */
export class UpstreamsSettings extends ResilienceSettings {
  static readonly section = 'UPSTREAMS';
  static readonly title = 'Each upstream MCP server';

  /** A tool of somebody else's may well think for a while. */
  override operationTimeoutSeconds = 30;

  @Setting({
    doc: 'Longest time for opening one session, and for discovering one upstream at the start.',
    unit: 'seconds',
  })
  @ToNumber()
  @Min(0.1)
  @Max(300)
  connectTimeoutSeconds = 15;

  @Setting({ doc: 'Sessions open at a time with each upstream: one for each account in use.', unit: 'sessions' })
  @ToInteger()
  @Min(1)
  @Max(10_000)
  maxSessions = 64;

  @Setting({ doc: 'How long a session that nobody uses is kept.', unit: 'seconds' })
  @ToNumber()
  @Min(1)
  @Max(86_400)
  sessionIdleSeconds = 300;

  @Setting({
    doc: 'How long the definitions of a session are believed before they are compared with their pins again.',
    unit: 'seconds',
  })
  @ToNumber()
  @Min(0)
  @Max(86_400)
  verifySeconds = 60;

  @Setting({ doc: 'Largest message that is taken from an upstream.', unit: 'bytes' })
  @ToInteger()
  @Min(1024)
  @Max(67_108_864)
  maxResultBytes = 4_194_304;

  @Setting({ doc: 'Largest arguments of one call.', unit: 'bytes' })
  @ToInteger()
  @Min(256)
  @Max(16_777_216)
  maxArgumentBytes = 262_144;
}
