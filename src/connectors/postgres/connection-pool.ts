import pg from 'pg';
import { type Clock } from '../../resilience/clock.js';
import { cancelRequest } from './cancel-request.js';
import { type ConnectionRoom, type RoomTenant } from './connection-room.js';
import { DatabaseSocket, type SocketRoute } from './database-socket.js';
import { sessionKeyOf } from './driver.js';
import { type Dsn } from './dsn.js';
import { PoolStatistics } from './pool-statistics.js';
import { ConnectFailedError, ConnectionKilledError, ConnectorClosedError } from './postgres-errors.js';
import { valueParsers } from './value-parsers.js';

/** One login at the server, as the pool lends it. */
export interface Connection {
  readonly client: pg.PoolClient;
  readonly socket: DatabaseSocket;
  /** It has served somebody before: it may have died while it was idle. */
  used: boolean;
  /** The driver has given it up: it was lost, or the server did not keep to the protocol. */
  broken: boolean;
}

export interface PoolOptions {
  readonly dsn: Dsn;
  readonly route: SocketRoute;
  readonly applicationName: string;
  readonly min: number;
  readonly max: number;
  /** Shared with the other pools of the source. */
  readonly room: ConnectionRoom;
  /** Longest time to open a connection. A backstop behind the executor's kill, so that the two never race. */
  readonly connectTimeoutMs: number;
  readonly clock: Clock;
  /** The password of now, asked for each new connection; absent = the DSN's, for ever. Never rejects. */
  readonly password?: () => Promise<string>;
}

/** As the reference's driver has them (spec §4.1). */
const IDLE_TIMEOUT_MS = 600_000;
const MAX_LIFETIME_SECONDS = 3_600;
/** What a graceful goodbye may take at close(). */
const GOODBYE_MS = 1_000;
/** Terminate (PostgreSQL protocol 3.0, 54.7). */
const TERMINATE = Buffer.from([0x58, 0, 0, 0, 4]);

/** Somebody waits for a connection. */
interface Checkout {
  /** The socket that is being opened for it; undefined while it waits for its turn. */
  socket: DatabaseSocket | undefined;
  /** Answers it while it has no socket: nothing must be waited for then. It stays in pg's queue, and so in ours. */
  readonly giveUp: (error: Error) => void;
}

/**
 * pg's Pool over sockets of ours: which socket belongs to whom is known in every phase, so each can be counted, and
 * destroyed by whoever waits for it. `pg` itself cannot stop a connect, drop its idle clients or close in bounded time.
 */
export class ConnectionPool implements RoomTenant {
  readonly statistics: PoolStatistics;
  readonly #pool: pg.Pool;
  readonly #connections = new WeakMap<pg.PoolClient, Connection>();
  readonly #idle = new Set<Connection>();
  /** Every socket that is not closed yet, those of CancelRequests included. */
  readonly #sockets = new Set<DatabaseSocket>();
  readonly #waiting = new Set<Checkout>();
  /** Closed by us to make room: not lost. */
  readonly #closedByUs = new WeakSet<pg.ClientBase>();
  #retired = false;
  /** Set while pg's `connect` runs: a socket that is asked for now is for this checkout. */
  #entering: Checkout | undefined;
  #closing: Promise<void> | undefined;

  constructor(private readonly options: PoolOptions) {
    const { dsn, applicationName, min, max, connectTimeoutMs } = options;
    this.#pool = new pg.Pool({
      host: dsn.host,
      port: dsn.port,
      user: dsn.user,
      // A function keeps it out of the objects that pg makes, and pg from looking into PGPASSWORD and ~/.pgpass.
      password: this.options.password ?? (() => dsn.password),
      database: dsn.database,
      options: dsn.options,
      application_name: applicationName,
      ssl: false, // settled in DatabaseSocket
      sslnegotiation: 'postgres',
      pipeline: true,
      types: valueParsers,
      min,
      max,
      connectionTimeoutMillis: connectTimeoutMs,
      idleTimeoutMillis: IDLE_TIMEOUT_MS,
      maxLifetimeSeconds: MAX_LIFETIME_SECONDS,
      stream: () => this.#socketForPool(),
    });
    this.statistics = new PoolStatistics(this.#pool, this.#waiting, options);
    this.#pool.on('connect', (client) => this.#welcome(client));
    // An idle connection was lost; pg has removed it already.
    this.#pool.on('error', (_error, client) => {
      if (!this.#closedByUs.has(client)) this.statistics.lost();
    });
    options.room.join(this);
  }

  /** Nothing is free and nothing more may be opened. */
  get busy(): boolean {
    return this.#pool.idleCount === 0 && this.#pool.totalCount >= this.options.max;
  }

  get idle(): number {
    return this.#pool.idleCount;
  }

  /** No socket of it is left. */
  get isEmpty(): boolean {
    return this.#sockets.size === 0 && this.#waiting.size === 0;
  }

  /**
   * Rejects with ConnectFailedError, ConnectionKilledError or ConnectorClosedError, and then only when the socket that
   * was being opened is closed. Whoever gets a connection must give it to `checkin` or `discard`.
   */
  async checkout(kill: AbortSignal): Promise<Connection> {
    for (;;) {
      if (this.#closing) throw new ConnectorClosedError();
      if (kill.aborted) throw new ConnectionKilledError(true);
      const connection = await this.#connect(kill);
      this.#idle.delete(connection);
      if (kill.aborted || connection.socket.destroyed) await this.discard(connection);
      else return connection;
    }
  }

  checkin(connection: Connection): void {
    if (this.#retired) {
      void this.discard(connection);
      return;
    }
    connection.used = true;
    // Before release(): that may hand it to somebody else in the same breath.
    this.#idle.add(connection);
    this.statistics.returned(connection);
    connection.client.release();
    this.options.room.makeRoom();
  }

  /** Resolves when its socket is closed. */
  async discard(connection: Connection): Promise<void> {
    this.statistics.discarded(connection);
    await this.#destroy(connection.socket);
    connection.client.release(true);
  }

  /** What had been idle when the server stopped answering, or was restarted, is not to be trusted. */
  dropIdle(): void {
    for (const { socket } of this.#idle) socket.destroy();
    this.#idle.clear();
  }

  closeIdle(): DatabaseSocket | undefined {
    const [connection] = this.#idle;
    if (connection === undefined) return undefined;
    const { client, socket } = connection;
    this.#idle.delete(connection);
    this.#closedByUs.add(client);
    // A goodbye (Terminate), so that the server does not complain in its log of a client that vanished.
    socket.write(TERMINATE);
    socket.destroy();
    return socket;
  }

  /** The secret behind it has been replaced: what is lent comes back once, and is closed. */
  retire(): void {
    this.#retired = true;
    this.options.room.leave(this);
    while (this.closeIdle() !== undefined);
  }

  /** Cancels what a connection is doing, see cancel-request.ts. `abandon` destroys the socket of the request. */
  cancel(connection: Connection): { readonly delivered: Promise<boolean>; readonly abandon: () => void } {
    const socket = this.#newSocket();
    const { remote } = connection.socket;
    if (remote === undefined) socket.destroy();
    const delivered = remote
      ? cancelRequest(socket, remote, sessionKeyOf(connection.client))
      : this.#destroy(socket).then(() => false);
    return { delivered, abandon: () => void socket.destroy() };
  }

  /** Says goodbye to idle connections, then destroys what is left after one second. Never rejects. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const checkout of this.#waiting) {
      if (checkout.socket) checkout.socket.destroy();
      else checkout.giveUp(new ConnectorClosedError());
    }
    // Its promise says little: it resolves before the sockets are closed, and waits for leases for ever.
    this.#pool.end().catch(() => undefined);
    const { clock } = this.options;
    await new Promise<void>((resolve) => {
      const cancel = clock.after(GOODBYE_MS, resolve);
      void Promise.all([...this.#sockets].map((socket) => this.#closed(socket))).then(() => {
        cancel();
        resolve();
      });
    });
    await Promise.all([...this.#sockets].map((socket) => this.#destroy(socket)));
  }

  #connect(kill: AbortSignal): Promise<Connection> {
    return new Promise((resolve, reject) => {
      let givenUp = false;
      const checkout: Checkout = {
        socket: undefined,
        giveUp: (error) => {
          givenUp = true;
          kill.removeEventListener('abort', onKill);
          reject(error);
        },
      };
      const onKill = (): void => {
        // pg reports the destroyed socket to the callback below.
        if (checkout.socket) checkout.socket.destroy();
        else checkout.giveUp(new ConnectionKilledError(true));
      };
      kill.addEventListener('abort', onKill);
      this.#waiting.add(checkout);
      this.statistics.requested();
      this.#entering = checkout;
      this.#pool.connect((error, client) => {
        kill.removeEventListener('abort', onKill);
        this.#waiting.delete(checkout);
        if (client) {
          const connection = this.#connections.get(client);
          if (connection === undefined) return reject(new Error('pg lent a client that it never announced'));
          this.statistics.lent(connection);
          if (givenUp) this.checkin(connection);
          else resolve(connection);
          return;
        }
        const { socket } = checkout;
        if (socket) this.statistics.connectFailed(socket);
        const failure = kill.aborted ? new ConnectionKilledError(true) : new ConnectFailedError(error);
        // After a refused login it is the server that closes; nobody waits for a server here.
        void (socket ? this.#destroy(socket) : Promise.resolve()).then(() => reject(failure));
      });
      this.#entering = undefined;
    });
  }

  /**
   * pg opens a socket either inside `connect`, or later for the call that has waited longest: its queue is first come,
   * first served. So the socket's owner is known without asking pg.
   */
  #socketForPool(): DatabaseSocket {
    const { room } = this.options;
    const socket = this.#newSocket((waiting, connect) => room.enter(waiting, connect));
    this.statistics.opening(socket);
    const owner = this.#entering ?? [...this.#waiting].find((checkout) => checkout.socket === undefined);
    if (owner) owner.socket = socket;
    return socket;
  }

  #newSocket(gate?: ConstructorParameters<typeof DatabaseSocket>[1]): DatabaseSocket {
    const socket = new DatabaseSocket(this.options.route, gate);
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    return socket;
  }

  #welcome(client: pg.PoolClient): void {
    const socket = client.connection.stream as DatabaseSocket;
    const connection: Connection = { client, socket, used: false, broken: false };
    this.#connections.set(client, connection);
    this.statistics.opened(socket);
    // Without a listener an error of a lent client would end the process.
    client.on('error', () => (connection.broken = true));
    socket.once('close', () => this.#idle.delete(connection));
  }

  async #destroy(socket: DatabaseSocket): Promise<void> {
    socket.destroy();
    await this.#closed(socket);
  }

  #closed(socket: DatabaseSocket): Promise<void> {
    if (!this.#sockets.has(socket)) return Promise.resolve();
    return new Promise((resolve) => socket.once('close', () => resolve()));
  }
}
