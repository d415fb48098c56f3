import { type DatabaseSocket } from './database-socket.js';

/** One pool among those that share a room. */
export interface RoomTenant {
  /** Closes the connection that has been idle longest; undefined when there is none. */
  closeIdle(): DatabaseSocket | undefined;
}

interface Waiting {
  readonly socket: DatabaseSocket;
  readonly connect: () => void;
}

/**
 * Law: the pools of one source together never hold more than `max` connections, whatever each of them believes. A socket
 * connects when there is room for it; while there is none, one connection that nobody uses is closed for each that waits,
 * whosever it is. First come, first served. A socket has its place until it is closed, not until somebody lets go of it.
 */
export class ConnectionRoom {
  readonly #tenants = new Set<RoomTenant>();
  readonly #inside = new Set<DatabaseSocket>();
  readonly #leaving = new Set<DatabaseSocket>();
  readonly #waiting: Waiting[] = [];

  constructor(readonly max: number) {}

  get isFull(): boolean {
    return this.#inside.size >= this.max;
  }

  join(tenant: RoomTenant): void {
    this.#tenants.add(tenant);
  }

  leave(tenant: RoomTenant): void {
    this.#tenants.delete(tenant);
  }

  /** `connect` is called once, now or later; never when the socket is destroyed first. */
  enter(socket: DatabaseSocket, connect: () => void): void {
    if (socket.destroyed) return;
    this.#waiting.push({ socket, connect });
    socket.once('close', () => this.#closed(socket));
    this.#admit();
    this.makeRoom();
  }

  /** A connection has become idle: somebody may be waiting for its place. */
  makeRoom(): void {
    for (let missing = this.#waiting.length - this.#leaving.size; missing > 0; missing -= 1) {
      const closing = this.#closeOne();
      if (closing === undefined) return;
      if (this.#inside.has(closing)) this.#leaving.add(closing);
    }
  }

  #closeOne(): DatabaseSocket | undefined {
    for (const tenant of this.#tenants) {
      const closing = tenant.closeIdle();
      if (closing === undefined) continue;
      // The next time another one is asked first.
      this.#tenants.delete(tenant);
      this.#tenants.add(tenant);
      return closing;
    }
    return undefined;
  }

  #closed(socket: DatabaseSocket): void {
    this.#inside.delete(socket);
    this.#leaving.delete(socket);
    const index = this.#waiting.findIndex((waiting) => waiting.socket === socket);
    if (index >= 0) this.#waiting.splice(index, 1);
    this.#admit();
  }

  #admit(): void {
    while (!this.isFull) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#inside.add(next.socket);
      next.connect();
    }
  }
}
