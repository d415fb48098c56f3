import { type LookupFunction, Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { type TLSSocket } from 'node:tls';
import { type TlsPolicy } from './tls-policy.js';

/**
 * The socket that is handed to `pg` and that carries CancelRequests: it looks the host up with the source's own resolver,
 * settles TLS before it says that it is connected, and can be destroyed in any phase. Laws:
 *
 * 1. `close` comes when the operating system's socket is closed, never before: a slot may follow it (law 4).
 * 2. It never half-closes by itself; a peer's end ends both sides.
 * 3. It reads no more than `allowance` bytes, then it destroys itself: nobody decides how much memory an answer takes.
 *
 * TLS is settled here and not by `pg`, because `pg` cannot go on in plain text when the server has no TLS (`prefer`),
 * and because the CancelRequest needs the same.
 */
export interface SocketRoute {
  readonly lookup: LookupFunction;
  readonly tls: TlsPolicy | undefined;
  /** TCP keep-alive, so that a peer that vanished is noticed on an idle connection. Milliseconds before the first probe. */
  readonly keepAliveMs: number;
}

/** An answer had more bytes than the reader allowed. */
export class AllowanceExceededError extends Error {
  override readonly name = 'AllowanceExceededError';
  constructor() {
    super('the answer has more bytes than are allowed');
  }
}

/** What the server said to the question for TLS, or how that conversation failed. */
export class TlsRefusedError extends Error {
  override readonly name = 'TlsRefusedError';
}

/** SSLRequest: length 8, code 1234.5679 (PostgreSQL protocol 3.0, 54.7). */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);
const YES = 0x53; // 'S'
const NO = 0x4e; // 'N'

export class DatabaseSocket extends Duplex {
  /** Bytes that may still be read; whoever asks the server sets it anew. */
  allowance = 1_048_576;
  readonly #tcp = new Socket();
  /** What data goes through: the socket itself, or TLS over it. Undefined while connecting. */
  #channel: Socket | TLSSocket | undefined;
  #tcpClosed = false;

  constructor(
    private readonly route: SocketRoute,
    /** Calls the function it is given when this socket may connect; absent: at once. */
    private readonly gate?: (socket: DatabaseSocket, connect: () => void) => void,
  ) {
    super({ allowHalfOpen: false });
    this.#tcp.setNoDelay(true).setKeepAlive(true, route.keepAliveMs);
    this.#tcp.on('error', (error) => this.destroy(error));
    this.#tcp.once('close', () => {
      this.#tcpClosed = true;
      this.destroy();
    });
  }

  connect(port: number, host: string): this {
    const { lookup, tls } = this.route;
    const connect = (): void => {
      this.#tcp.connect({ port, host, lookup }, () => {
        if (tls === undefined) this.#open(this.#tcp);
        else this.#askForTls(tls);
      });
    };
    if (this.gate === undefined) connect();
    else this.gate(this, connect);
    return this;
  }

  #askForTls(tls: TlsPolicy): void {
    this.#tcp.write(SSL_REQUEST);
    this.#tcp.once('data', (answer) => {
      // Bytes behind the one-byte answer were not sent by the server we will authenticate (CVE-2021-23222).
      if (answer.length !== 1) return this.destroy(new TlsRefusedError('unexpected bytes before the TLS handshake'));
      if (answer[0] === YES) return this.#secure(tls);
      if (answer[0] === NO && !tls.required) return this.#open(this.#tcp);
      return this.destroy(new TlsRefusedError('the server offers no TLS'));
    });
  }

  #secure(tls: TlsPolicy): void {
    const channel = tls.secure(this.#tcp);
    channel.on('error', (error: Error) => this.destroy(error));
    channel.once('secureConnect', () => this.#open(channel));
  }

  #open(channel: Socket | TLSSocket): void {
    this.#channel = channel;
    channel.on('data', (chunk: Buffer) => {
      this.allowance -= chunk.length;
      if (this.allowance < 0) this.destroy(new AllowanceExceededError());
      else if (!this.push(chunk)) channel.pause();
    });
    channel.on('end', () => this.push(null));
    this.emit('connect');
  }

  override _read(): void {
    this.#channel?.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#channel === undefined) return done(new Error('not connected'));
    if (this.#channel.write(chunk)) done();
    else this.#channel.once('drain', done);
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this._write(
      chunks.length === 1 && chunks[0] ? chunks[0].chunk : Buffer.concat(chunks.map(({ chunk }) => chunk)),
      'utf8',
      done,
    );
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#channel?.end();
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#channel?.destroy();
    if (this.#tcpClosed) return done(error);
    this.#tcp.once('close', () => done(error));
    this.#tcp.destroy();
  }

  /** Address and port of the server this socket really reached; a CancelRequest must go to the same one. */
  get remote(): { readonly address: string; readonly port: number } | undefined {
    const { remoteAddress, remotePort } = this.#tcp;
    return remoteAddress === undefined || remotePort === undefined
      ? undefined
      : { address: remoteAddress, port: remotePort };
  }

  // The rest is what `pg` expects of a socket. Delay and keep-alive are set already.
  setNoDelay(): this {
    return this;
  }
  setKeepAlive(): this {
    return this;
  }
  ref(): this {
    this.#tcp.ref();
    return this;
  }
  unref(): this {
    this.#tcp.unref();
    return this;
  }
}
