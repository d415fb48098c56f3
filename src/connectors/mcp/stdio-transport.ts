import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { type UpstreamChild } from './child-process.js';

/** Code of the answer that stands for one that was too large to be read; JSON-RPC keeps no codes out here. */
export const TOO_LARGE = -31_900;

const LINE_FEED = 0x0a;
/** How much of both ends of a line that is too large is kept, to find out whose answer it is. Bytes. */
const ENDS = 256;

/**
 * The pipe to one child, as the SDK's client sees it. Not the SDK's own: that one inherits HOME, USER and more, knows no
 * process groups, starts a second child to try the protocol out, and closes the session over one answer that is too large.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** The SDK tells a pipe from a network by this field and `pid`: on a pipe silence means an older revision. */
  readonly stderr = null;
  readonly #lines: LineReader;
  #closed = false;

  constructor(
    private readonly child: UpstreamChild,
    maxBytes: number,
  ) {
    this.#lines = new LineReader(
      maxBytes,
      (line) => this.#receive(line),
      (id) => this.#oversized(id),
    );
  }

  get pid(): number | null {
    return this.child.pid ?? null;
  }

  async start(): Promise<void> {
    const { child } = this;
    await child.started();
    child.stdin.on('error', () => this.#over());
    child.stdout.on('data', (chunk: Buffer) => this.#lines.push(chunk));
    child.stdout.on('error', () => this.#over());
    child.stdout.once('close', () => this.#over());
    void child.exited.then(() => this.#over());
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#closed) throw new Error('the pipe is closed');
    const { stdin } = this.child;
    await new Promise<void>((resolve, reject) => {
      stdin.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()));
    });
  }

  async close(): Promise<void> {
    this.#over();
    await this.child.close();
  }

  #over(): void {
    if (this.#closed) return;
    this.#closed = true;
    // A child whose pipe has ended is of no use to anybody, whether it lives or not.
    void this.child.close();
    this.onclose?.();
  }

  #receive(line: string): void {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      // Some programs greet on stdout. Nobody's answer is lost: an answer is JSON.
      return;
    }
    if (typeof message === 'object' && message !== null) this.onmessage?.(message as JSONRPCMessage);
  }

  #oversized(id: number | undefined): void {
    if (id === undefined) void this.close();
    else this.onmessage?.({ jsonrpc: '2.0', id, error: { code: TOO_LARGE, message: 'too large' } });
  }
}

/** Lines of at most `maxBytes`. What is longer is dropped while it is read, and its id found at one of its ends. */
class LineReader {
  #chunks: Buffer[] = [];
  #bytes = 0;
  #tail: Buffer | undefined;

  constructor(
    private readonly maxBytes: number,
    private readonly line: (text: string) => void,
    private readonly oversized: (id: number | undefined) => void,
  ) {}

  push(chunk: Buffer): void {
    let rest = chunk;
    for (let at = rest.indexOf(LINE_FEED); at !== -1; at = rest.indexOf(LINE_FEED)) {
      this.#take(rest.subarray(0, at));
      this.#end();
      rest = rest.subarray(at + 1);
    }
    if (rest.length > 0) this.#take(rest);
  }

  #take(part: Buffer): void {
    if (this.#tail === undefined && this.#bytes + part.length <= this.maxBytes) {
      this.#chunks.push(part);
      this.#bytes += part.length;
      return;
    }
    if (this.#tail === undefined) {
      const read = Buffer.concat([...this.#chunks, part]);
      this.#chunks = [Buffer.from(read.subarray(0, ENDS))];
      this.#tail = Buffer.from(read.subarray(-ENDS));
    } else {
      this.#tail = Buffer.concat([this.#tail, part]).subarray(-ENDS);
    }
  }

  #end(): void {
    const [chunks, tail] = [this.#chunks, this.#tail];
    this.#chunks = [];
    this.#bytes = 0;
    this.#tail = undefined;
    const head = Buffer.concat(chunks).toString('utf8');
    if (tail === undefined) this.line(head);
    else this.oversized(idAt(head, tail.toString('utf8')));
  }
}

/** Where the known libraries write it: among the first members of the message, or as its last one. */
function idAt(head: string, tail: string): number | undefined {
  const found = /"id":(\d{1,15})\}\s*$/.exec(tail) ?? /^\s*\{(?:"jsonrpc":"2\.0",)?"id":(\d{1,15}),/.exec(head);
  return found?.[1] === undefined ? undefined : Number(found[1]);
}
