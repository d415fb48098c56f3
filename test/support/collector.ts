import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One span as it came over OTLP, its attributes as a plain object. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly start: bigint;
  readonly end: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly string[];
  /** 0 unset, 1 ok, 2 error. */
  readonly status: number;
}

interface OtlpAttribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}
interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly OtlpAttribute[];
  readonly events?: readonly { readonly name: string }[];
  readonly status?: { readonly code?: number };
}
interface OtlpRequest {
  readonly resourceSpans: readonly {
    readonly resource?: { readonly attributes?: readonly OtlpAttribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

const plain = (attributes: readonly OtlpAttribute[] = []) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

/** A real receiver of OTLP over HTTP (JSON): keeps every span, and everything as it came. */
export class Collector {
  readonly spans: ReceivedSpan[] = [];
  readonly resources: Readonly<Record<string, unknown>>[] = [];
  /** Bodies as they came. */
  text = '';
  /** Paths that were asked for. */
  readonly paths = new Set<string>();
  requests = 0;
  /** `silence`: takes requests, keeps them and never answers. `refuse`: 400. */
  mood: 'take' | 'silence' | 'refuse' = 'take';
  #server: Server | undefined;
  readonly #watchers = new Set<() => void>();

  static async start(): Promise<Collector> {
    const collector = new Collector();
    await collector.#listen();
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server?.address() as AddressInfo).port}`;
  }

  named(name: string): ReceivedSpan[] {
    return this.spans.filter((span) => span.name === name);
  }

  /** Resolves when `seen` is so; rejects after `milliseconds`. */
  until(seen: (collector: this) => boolean, milliseconds = 10_000): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (!seen(this)) return;
        clearTimeout(timer);
        this.#watchers.delete(look);
        resolve();
      };
      const timer = setTimeout(
        () => reject(new Error(`not seen; spans: ${this.spans.map(({ name }) => name).join(', ')}`)),
        milliseconds,
      );
      this.#watchers.add(look);
      look();
    });
  }

  async close(): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise<void>((resolve) => this.#server?.close(() => resolve()));
  }

  async #listen(): Promise<void> {
    this.#server = createServer((request, response) => {
      this.requests += 1;
      this.paths.add(request.url ?? '');
      let body = '';
      request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      request.on('end', () => {
        if (this.mood !== 'refuse') this.#keep(body);
        for (const look of this.#watchers) look();
        if (this.mood === 'silence') return;
        if (this.mood === 'refuse') response.writeHead(400).end();
        else response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
      });
    });
    await new Promise<void>((resolve) => this.#server?.listen(0, '127.0.0.1', resolve));
  }

  #keep(body: string): void {
    this.text += body;
    for (const { resource, scopeSpans } of (JSON.parse(body) as OtlpRequest).resourceSpans) {
      this.resources.push(plain(resource?.attributes));
      for (const span of scopeSpans.flatMap(({ spans }) => spans)) {
        this.spans.push({
          traceId: span.traceId,
          spanId: span.spanId,
          parentSpanId: span.parentSpanId === '' ? undefined : span.parentSpanId,
          name: span.name,
          kind: span.kind,
          start: BigInt(span.startTimeUnixNano),
          end: BigInt(span.endTimeUnixNano),
          attributes: plain(span.attributes),
          events: (span.events ?? []).map(({ name }) => name),
          status: span.status?.code ?? 0,
        });
      }
    }
  }
}
