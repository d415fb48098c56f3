import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';

/**
 * Requests whose target is literally `path` (with or without a query) are handed to `serve` before the router of the
 * application sees them: its walk cost a tenth of a call, and it makes another object of each request. Every other
 * spelling that the router knows (`/mcp/`, `/MCP`) still finds the same code through it (docs/decisions/0007).
 */
export function openFrontDoor(
  server: Server,
  path: string,
  serve: (req: IncomingMessage, res: ServerResponse) => void,
): void {
  const withQuery = `${path}?`;
  const others = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (req, res) => {
    const { url = '' } = req;
    if (url === path || url.startsWith(withQuery)) serve(req, res);
    else for (const listener of others) listener.call(server, req, res);
  });
}
