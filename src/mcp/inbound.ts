import type { Caller } from './call.js';
import type { Exchange } from './exchange.js';

/** What the edge knows of one request when the protocol takes over. */
export interface Inbound {
  readonly exchange: Exchange;
  readonly caller: Caller;
  readonly traceId?: string;
}
