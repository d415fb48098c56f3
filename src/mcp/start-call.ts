import { callContext } from '../logging/call-context.js';
import type { Round } from './asking/round.js';
import type { CallStream } from './call-stream.js';
import type { CompiledEntry } from './catalogue-entry.js';
import type { Inbound } from './inbound.js';
import { LiveCall } from './live-call.js';

/**
 * Runs one call. The call context is entered around the whole pipeline: entered inside a step it would not reach the
 * operators that the step before it has attached (architecture §6).
 */
export async function startCall(
  entry: CompiledEntry,
  input: unknown,
  inbound: Inbound,
  stream?: CallStream,
  round?: Round,
): Promise<Readonly<Record<string, unknown>>> {
  const trace = inbound.tracer?.begin(entry, inbound.parent);
  const call = new LiveCall(entry, input, inbound, stream, round, trace);
  inbound.exchange.hold();
  try {
    const { correlationId, traceId } = call;
    return await callContext.run({ correlationId, traceId, span: trace?.current }, () => entry.run(call));
  } finally {
    trace?.end();
    inbound.exchange.release();
  }
}
