import {
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
  type Attributes,
  type Context,
  type Span,
  type Tracer,
} from '@opentelemetry/api';
import type { CurrentSpan } from '../../logging/call-context.js';

/**
 * One span, and what is made inside of it. Which span is current travels with the call (`callContext`): there is one
 * context of a call, and no second one of OpenTelemetry's beside it.
 *
 * Law: names and attributes are names of ours, codes and hexadecimal ids. Nothing of a caller, of a source's answer or of
 * an error's text is ever put into a span.
 */
export class LiveSpan implements CurrentSpan {
  readonly #context: Context;
  readonly #span: Span;

  constructor(
    private readonly tracer: Tracer,
    parent: Context,
    name: string,
    kind: SpanKind,
    attributes: Attributes,
  ) {
    this.#span = tracer.startSpan(name, { kind, attributes }, parent);
    this.#context = trace.setSpan(parent, this.#span);
  }

  get traceId(): string {
    return this.#span.spanContext().traceId;
  }

  get traceparent(): string {
    const { traceId, spanId, traceFlags } = this.#span.spanContext();
    return `00-${traceId}-${spanId}-0${traceFlags & TraceFlags.SAMPLED}`;
  }

  child(name: string, kind: SpanKind, attributes: Attributes = {}): LiveSpan {
    return new LiveSpan(this.tracer, this.#context, name, kind, attributes);
  }

  set(attributes: Attributes): void {
    this.#span.setAttributes(attributes);
  }

  event(name: string, attributes: Attributes): void {
    this.#span.addEvent(name, attributes);
  }

  /** @param failure a code; absent when nothing went wrong. */
  end(failure?: string): void {
    if (failure !== undefined) {
      this.#span.setAttribute('error.type', failure);
      this.#span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.#span.end();
  }

  connecting(): (failure?: string) => void {
    const opening = this.child('connect', SpanKind.INTERNAL);
    let open = true;
    return (failure) => {
      if (!open) return;
      open = false;
      opening.end(failure);
    };
  }
}
