import { ROOT_CONTEXT, SpanKind, TraceFlags, trace, type Tracer } from '@opentelemetry/api';
import type { CallKind, McpCall } from '../../mcp/call.js';
import type { CompiledEntry } from '../../mcp/catalogue-entry.js';
import type { CallEnding, CallSpan, ParentSpan } from '../../mcp/observation.js';
import type { CallObserver, CallTracer } from '../../mcp/ports.js';
import { LiveSpan } from './live-span.js';

/** Names of OpenTelemetry's conventions for MCP. */
const METHODS: Readonly<Record<CallKind, string>> = {
  tool: 'tools/call',
  resource: 'resources/read',
  prompt: 'prompts/get',
};
const NAMED: Readonly<Record<CallKind, string>> = {
  tool: 'gen_ai.tool.name',
  resource: 'mcp.resource.uri',
  prompt: 'gen_ai.prompt.name',
};

/** The server span of each call: the child of the caller's span, or the root of a trace. */
export class CallTracing implements CallTracer, CallObserver {
  constructor(private readonly tracer: Tracer) {}

  begin({ kind, name }: CompiledEntry, parent: ParentSpan | undefined): CallSpan {
    const method = METHODS[kind];
    const attributes = { 'mcp.method.name': method, [NAMED[kind]]: name };
    return new TracedCall(
      new LiveSpan(this.tracer, contextOf(parent), `${method} ${name}`, SpanKind.SERVER, attributes),
    );
  }

  ended({ trace: span, correlationId }: McpCall, ending: CallEnding): void {
    if (!(span instanceof TracedCall)) return;
    span.current.set({ 'mcp_corp.correlation_id': correlationId });
    span.end(ending);
  }
}

class TracedCall implements CallSpan {
  #ended = false;

  constructor(readonly current: LiveSpan) {}

  get traceId(): string {
    return this.current.traceId;
  }

  end(ending?: CallEnding): void {
    if (this.#ended) return;
    this.#ended = true;
    if (ending === undefined) return this.current.end('not_accepted');
    const { result, reason } = ending;
    this.current.set({ 'mcp_corp.result': result, ...(reason !== undefined && { 'mcp_corp.reason': reason }) });
    this.current.end(result === 'failure' ? (reason ?? result) : undefined);
  }
}

function contextOf(parent: ParentSpan | undefined) {
  if (parent === undefined) return ROOT_CONTEXT;
  const { traceId, spanId, sampled } = parent;
  // `tracestate` is a caller's text of up to 512 characters: it goes neither into a span nor to a source.
  const traceFlags = sampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}
