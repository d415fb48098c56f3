import type { Caller } from './call.js';
import type { Exchange } from './exchange.js';
import type { ParentSpan } from './observation.js';
import type { CallTracer } from './ports.js';

/** What the edge knows of one request when the protocol takes over. */
export interface Inbound {
  readonly exchange: Exchange;
  readonly caller: Caller;
  /** The caller's span, where the request names one. */
  readonly parent?: ParentSpan;
  /** Absent where calls are not traced. */
  readonly tracer?: CallTracer;
}
