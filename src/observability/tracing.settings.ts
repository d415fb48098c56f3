import { Max, MaxLength, Min } from 'class-validator';
import type { ConfigProblem } from '../config/problem.js';
import { Setting, variableOf } from '../config/setting.js';
import { ToNumber } from '../config/transforms.js';

/** Path of the traces at a collector (OTLP 1.x, "OTLP/HTTP Request"). */
const TRACES_PATH = '/v1/traces';

/** Where the spans of the calls go. Without an endpoint there are none, and nothing of it is loaded. */
export class TracingSettings {
  static readonly section = 'TRACING';
  static readonly title = 'Traces';

  @Setting({
    doc: 'URL of an OTLP/HTTP collector; without a path it is /v1/traces.',
    defaultDoc: 'none: calls are not traced',
    example: 'http://otel-collector:4318',
  })
  @MaxLength(2048)
  endpoint?: string;

  @Setting({
    doc: 'Share of the calls that are traced, of those whose caller has not decided it already.',
    unit: 'fraction',
  })
  @ToNumber()
  @Min(0)
  @Max(1)
  sampleRatio = 1;

  /** What `crossCheck` has found to be a URL. */
  url(): string | undefined {
    if (this.endpoint === undefined) return undefined;
    const url = new URL(this.endpoint);
    if (url.pathname === '/') url.pathname = TRACES_PATH;
    return url.href;
  }

  crossCheck(): ConfigProblem[] {
    if (this.endpoint === undefined) return [];
    const variable = variableOf(TracingSettings, 'endpoint');
    const url = URL.parse(this.endpoint);
    if (!url || !['http:', 'https:'].includes(url.protocol)) {
      return [{ variable, problem: 'must be a URL that begins with http:// or https://' }];
    }
    const problem = 'must not contain credentials, a query or a fragment';
    return url.username + url.password + url.search + url.hash === '' ? [] : [{ variable, problem }];
  }
}
