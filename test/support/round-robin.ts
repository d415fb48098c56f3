import { once } from 'node:events';
import { Agent, createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Balancer {
  readonly url: string;
  /** Requests that each replica was given, in the order of the replicas. */
  readonly given: readonly number[];
  close(): Promise<void>;
}

/**
 * Strict round robin per HTTP request, whatever the connection or the client: two requests in a row never meet the same
 * replica. Headers and bodies pass as they are, streams as they come; when a client goes, its request to the replica goes.
 */
export async function startRoundRobin(
  ports: readonly number[],
  onRequest: (req: IncomingMessage) => void = () => undefined,
): Promise<Balancer> {
  const agent = new Agent({ keepAlive: true });
  const given = ports.map(() => 0);
  let next = 0;
  const server = createServer((req, res) => {
    onRequest(req);
    const index = next++ % ports.length;
    given[index] = (given[index] ?? 0) + 1;
    pass(req, res, ports[index] ?? 0, agent);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/mcp`, given, close: () => close(server, agent) };
}

function pass(req: IncomingMessage, res: ServerResponse, port: number, agent: Agent): void {
  const { method, url: path, headers } = req;
  const onward = request({ host: '127.0.0.1', port, method, path, headers, agent }, (answer) => {
    res.writeHead(answer.statusCode ?? 502, answer.headers);
    res.flushHeaders();
    answer.pipe(res);
    answer.once('error', () => res.destroy());
  });
  onward.once('error', () => (res.headersSent ? res.destroy() : res.writeHead(502).end()));
  res.once('close', () => {
    if (!res.writableFinished) onward.destroy();
  });
  req.pipe(onward);
}

async function close(server: Server, agent: Agent): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
  agent.destroy();
}
