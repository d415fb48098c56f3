import { Matches, Max, MaxLength, Min } from 'class-validator';
import { Setting } from '../config/setting.js';
import { ToInteger } from '../config/transforms.js';

/** Where the metrics are served. With neither a port nor a token there are none, and nothing is counted. */
export class MetricsSettings {
  static readonly section = 'METRICS';
  static readonly title = 'Metrics';

  @Setting({
    doc: 'Port of its own for /metrics, on the same interface as the service; keep it inside the cluster.',
    defaultDoc: 'none: with a bearer token /metrics is on the main port, without one there is none',
    unit: 'port',
  })
  @ToInteger()
  @Min(1)
  @Max(65_535)
  port?: number;

  @Setting({
    doc: 'Bearer token that /metrics asks for; needed on the main port, possible on a port of its own.',
    secret: true,
  })
  @MaxLength(4096)
  @Matches(/^[\x21-\x7e]+$/, { message: 'must be printable ASCII without spaces, to travel in a header' })
  bearerToken?: string;
}
