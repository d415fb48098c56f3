import { Agent as PlainAgent, type AgentOptions } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import { type LookupFunction, type Socket } from 'node:net';
import { type TLSSocket } from 'node:tls';

/** Idle connections are closed after this long, or earlier when the server's `Keep-Alive` header says so. Milliseconds. */
const IDLE_MS = 30_000;

export interface ClientTls {
  /** PEM. The authorities that may sign the source's certificate; the system's when absent. */
  readonly ca?: string;
  /** PEM, both or neither: the certificate with which we present ourselves. */
  readonly cert?: string;
  readonly key?: string;
}

export interface KeepAliveOptions {
  readonly secure: boolean;
  readonly maxSockets: number;
  readonly lookup: LookupFunction;
  readonly tls: ClientTls;
}

/** The connections to one source: at most `maxSockets`, reused, looked up by the source's own resolver (law 9). */
export function keepAliveAgent({ secure, maxSockets, lookup, tls }: KeepAliveOptions): PlainAgent {
  const options: AgentOptions & { lookup: LookupFunction } = {
    keepAlive: true,
    maxSockets,
    maxFreeSockets: maxSockets,
    timeout: IDLE_MS,
    lookup,
  };
  // `rejectUnauthorized` is written down because NODE_TLS_REJECT_UNAUTHORIZED=0 changes only the default.
  const agent = secure
    ? new SecureAgent({ ...options, ...tls, rejectUnauthorized: true, minVersion: 'TLSv1.2' })
    : new PlainAgent(options);
  // A request destroyed in the very turn in which it was made would leave a connection in the pool that never connects.
  const keep = agent.keepSocketAlive.bind(agent);
  agent.keepSocketAlive = (socket) => isConnected(socket as Socket) && keep(socket);
  return agent;
}

/** Connections that nobody uses now. Those in use are left alone. */
export function dropIdle(agent: PlainAgent): void {
  for (const sockets of Object.values(agent.freeSockets)) {
    for (const socket of sockets ?? []) socket.destroy();
  }
}

function isConnected(socket: Socket): boolean {
  return (
    !socket.connecting && (socket as Partial<TLSSocket> & { secureConnecting?: boolean }).secureConnecting !== true
  );
}
