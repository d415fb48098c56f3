import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/**
 * What the network does to the connections through the proxy; switching affects those that are open, too.
 * - `pass`: forwards.
 * - `refuse`: nothing listens; open connections go on.
 * - `blackhole`: accepts, and forwards nothing in either direction.
 * - `halfOpen`: the server's side is gone, the client is not told; what it writes disappears.
 * - `reset`: RST.
 * - `slowDrip`: the server's bytes arrive one at a time, `intervalMs` apart.
 * - `resetMidway`: RST after `bytes` more bytes of the server, over all connections.
 * - `badTls`: RST to open connections; new ones meet a TLS server with `identity` instead of the real one, or, without an
 *   identity, bytes that are no TLS at all. Understands PostgreSQL's way into TLS, too.
 */
export type Fault =
  | { readonly mode: 'pass' | 'refuse' | 'blackhole' | 'halfOpen' | 'reset' }
  | { readonly mode: 'slowDrip'; readonly intervalMs: number }
  | { readonly mode: 'resetMidway'; readonly bytes: number }
  | { readonly mode: 'badTls'; readonly identity?: { readonly cert: string; readonly key: string } };

/** PostgreSQL's question for TLS (protocol 3.0, 54.7), which a client asks before its first handshake message. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);

export interface FaultProxyOptions {
  readonly host?: string;
  readonly port: number;
  /** Sees, and may rewrite, what clients send. `connection` counts from 1. */
  readonly request?: (chunk: Buffer, connection: number) => Buffer;
}

interface Pair {
  readonly number: number;
  readonly client: Socket;
  readonly upstream: Socket | undefined;
}

/** A TCP proxy on loopback in front of a server, whose faults are switched at run time. */
export class FaultProxy {
  /** Connections accepted so far. */
  accepted = 0;
  port = 0;
  readonly #pairs = new Set<Pair>();
  readonly #drips = new Set<NodeJS.Timeout>();
  #fault: Fault = { mode: 'pass' };
  #bytesLeft = 0;
  #server: Server | undefined;

  private constructor(private readonly target: FaultProxyOptions) {}

  static async start(target: FaultProxyOptions): Promise<FaultProxy> {
    const proxy = new FaultProxy(target);
    await proxy.#listen();
    return proxy;
  }

  /** Connections that clients hold open just now. */
  get open(): number {
    return this.#pairs.size;
  }

  async set(fault: Fault | 'pass' | 'refuse' | 'blackhole' | 'halfOpen' | 'reset'): Promise<void> {
    const before = this.#fault.mode;
    this.#fault = typeof fault === 'string' ? { mode: fault } : fault;
    const { mode } = this.#fault;
    if (this.#fault.mode === 'resetMidway') this.#bytesLeft = this.#fault.bytes;
    if (mode === 'refuse') await this.#stopListening();
    else if (before === 'refuse') await this.#listen();
    for (const pair of [...this.#pairs]) {
      if (mode === 'badTls') pair.client.resetAndDestroy();
      else this.#apply(pair);
    }
  }

  /** RST to one client, by the number of its connection. */
  reset(number: number): void {
    for (const pair of this.#pairs) if (pair.number === number) pair.client.resetAndDestroy();
  }

  /** Resolves when clients have made `count` connections in all. */
  async untilAccepted(count: number): Promise<void> {
    while (this.accepted < count) {
      if (this.#server === undefined) throw new Error('the proxy refuses connections');
      await once(this.#server, 'connection');
    }
  }

  async close(): Promise<void> {
    for (const drip of this.#drips) clearInterval(drip);
    for (const { client, upstream } of this.#pairs) {
      client.destroy();
      upstream?.destroy();
    }
    await this.#stopListening();
  }

  async #listen(): Promise<void> {
    const server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (client) => this.#accept(client));
    this.#server = server.listen(this.port, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    this.port = address.port;
  }

  async #stopListening(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    // Its `close` event waits for open connections; the port is free at once.
    server.close();
    await new Promise(setImmediate);
  }

  #accept(client: Socket): void {
    this.accepted += 1;
    const number = this.accepted;
    const { mode } = this.#fault;
    const { host = '127.0.0.1', port, request } = this.target;
    const upstream =
      mode === 'blackhole' || mode === 'halfOpen' || mode === 'reset' || mode === 'badTls'
        ? undefined
        : connect({ host, port, allowHalfOpen: true });
    const pair: Pair = { number, client, upstream };
    this.#pairs.add(pair);
    client.on('error', () => client.destroy());
    client.on('close', () => {
      this.#pairs.delete(pair);
      upstream?.destroy();
    });
    if (upstream) {
      client.on('data', (chunk: Buffer) => {
        if (this.#forwards && !upstream.destroyed) upstream.write(request ? request(chunk, number) : chunk);
      });
      client.on('end', () => {
        if (this.#forwards) upstream.end();
      });
      upstream.on('data', (chunk: Buffer) => this.#answer(client, upstream, chunk));
      upstream.on('end', () => {
        if (this.#forwards) client.end();
      });
      upstream.on('error', () => upstream.destroy());
      upstream.on('close', () => {
        if (this.#forwards) client.destroySoon();
      });
    }
    if (this.#fault.mode === 'badTls') this.#impersonate(client, this.#fault.identity);
    else this.#apply(pair);
  }

  #impersonate(client: Socket, identity: { readonly cert: string; readonly key: string } | undefined): void {
    const greet = (first: Buffer): void => {
      if (first.equals(SSL_REQUEST)) {
        client.once('data', greet);
        client.write('S');
        return;
      }
      if (identity === undefined) {
        client.end('no se habla TLS\r\n'.repeat(8));
        return;
      }
      client.pause();
      client.unshift(first);
      const secured = new TLSSocket(client, { isServer: true, ...identity });
      secured.on('error', () => client.destroy());
      secured.resume();
    };
    client.once('data', greet);
    client.resume();
  }

  get #forwards(): boolean {
    return this.#fault.mode !== 'blackhole' && this.#fault.mode !== 'halfOpen';
  }

  #apply({ client, upstream }: Pair): void {
    const { mode } = this.#fault;
    if (mode === 'reset') client.resetAndDestroy();
    if (mode === 'halfOpen') upstream?.destroy();
    if (mode === 'blackhole') {
      client.pause();
      upstream?.pause();
    } else {
      // Half-open: somebody's network still takes the bytes, nobody reads them.
      client.resume();
      upstream?.resume();
    }
    // What one side said goodbye to while nothing was forwarded; a connection without a server has no future either.
    if (this.#forwards && upstream === undefined) client.destroy();
    else if (this.#forwards && client.readableEnded) upstream?.end();
    else if (this.#forwards && (upstream?.readableEnded || upstream?.destroyed)) client.destroySoon();
  }

  #answer(client: Socket, upstream: Socket, chunk: Buffer): void {
    const fault = this.#fault;
    if (fault.mode === 'resetMidway') {
      const part = chunk.subarray(0, this.#bytesLeft);
      this.#bytesLeft -= part.length;
      if (this.#bytesLeft > 0) client.write(part);
      else client.write(part, () => client.resetAndDestroy());
    } else if (fault.mode === 'slowDrip') this.#drip(client, upstream, chunk, fault.intervalMs);
    else if (this.#forwards) client.write(chunk);
  }

  #drip(client: Socket, upstream: Socket, chunk: Buffer, intervalMs: number): void {
    upstream.pause();
    let at = 0;
    const drip = setInterval(() => {
      if (!client.destroyed && at < chunk.length) client.write(chunk.subarray(at, (at += 1)));
      if (!client.destroyed && at < chunk.length) return;
      clearInterval(drip);
      this.#drips.delete(drip);
      upstream.resume();
    }, intervalMs);
    this.#drips.add(drip);
  }
}
