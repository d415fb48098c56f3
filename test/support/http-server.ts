import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer, type Socket } from 'node:net';
import { type TlsOptions } from 'node:tls';

export interface TestServer {
  readonly url: string;
  readonly port: number;
  /** Requests as they arrived: method, path as sent, headers. */
  readonly requests: readonly { method: string; path: string; headers: IncomingMessage['headers'] }[];
  /** Connections accepted so far. */
  readonly connections: number;
  /** Sockets that are open now. */
  readonly open: ReadonlySet<Socket>;
  /** Resolves when no socket is open. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

/** A real HTTP server on loopback, TLS when given `tls`. */
export async function startHttpServer(
  handler: RequestListener,
  options: { tls?: TlsOptions; port?: number } = {},
): Promise<TestServer> {
  const requests: { method: string; path: string; headers: IncomingMessage['headers'] }[] = [];
  const listener: RequestListener = (request, response) => {
    requests.push({ method: request.method ?? '', path: request.url ?? '', headers: request.headers });
    handler(request, response);
  };
  const server = options.tls ? createSecureServer(options.tls, listener) : createServer(listener);
  return listen(server, options.tls ? 'https' : 'http', requests, options.port ?? 0);
}

/** A server that is only a socket: for answers that no HTTP library would give. */
export async function startRawServer(onSocket: (socket: Socket) => void): Promise<TestServer> {
  const server = createTcpServer(onSocket);
  return listen(server, 'http', [], 0);
}

async function listen(
  server: Server | TcpServer,
  scheme: string,
  requests: TestServer['requests'],
  port: number,
): Promise<TestServer> {
  const open = new Set<Socket>();
  let connections = 0;
  let wake = (): void => undefined;
  server.on('connection', (socket: Socket) => {
    connections += 1;
    open.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      open.delete(socket);
      wake();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const address = server.address() as AddressInfo;
  return {
    url: `${scheme}://127.0.0.1:${address.port}`,
    port: address.port,
    requests,
    open,
    get connections() {
      return connections;
    },
    async idle() {
      while (open.size > 0) await new Promise<void>((resolve) => (wake = resolve));
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}
