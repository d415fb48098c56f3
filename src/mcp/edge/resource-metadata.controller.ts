import type { IncomingMessage, ServerResponse } from 'node:http';
import { Controller, Get, NotFoundException, Options, Req, Res } from '@nestjs/common';
import { Bindings } from '../bindings.js';
import { AllowLists } from './allow-lists.js';
import { METADATA_PATH, resourceOf } from './challenge.js';

/**
 * The document that tells OAuth clients whom to get a token from (RFC 9728): public, the same for everybody, readable by pages
 * of every origin. It exists where somebody challenges callers; elsewhere there is no such route.
 */
@Controller(METADATA_PATH)
export class ResourceMetadataController {
  constructor(
    private readonly bindings: Bindings,
    private readonly lists: AllowLists,
  ) {}

  @Get(['', '*path'])
  async document(@Req() req: IncomingMessage, @Res() res: ServerResponse): Promise<void> {
    const { challenger } = this.bindings;
    const { host } = req.headers;
    const path = new URL(req.url ?? '/', 'http://localhost').pathname;
    if (challenger === undefined || !this.lists.allowsHost(host)) throw new NotFoundException();
    const resource = resourceOf(challenger.resource, host);
    if (!['', '/', '/mcp', resource.pathname].includes(path.slice(METADATA_PATH.length))) throw new NotFoundException();
    const { authorizationServers, scopes } = await challenger.metadata();
    const text = JSON.stringify({
      resource: resource.href,
      authorization_servers: authorizationServers,
      bearer_methods_supported: ['header'],
      ...(scopes.length > 0 && { scopes_supported: scopes }),
    });
    res.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      'access-control-allow-origin': '*',
      'cache-control': 'no-cache',
    });
    res.end(text);
  }

  /** Browser clients send a header with it that asks first. */
  @Options(['', '*path'])
  preflight(@Res() res: ServerResponse): void {
    if (this.bindings.challenger === undefined) throw new NotFoundException();
    res.writeHead(204, {
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET',
      'access-control-allow-headers': 'MCP-Protocol-Version',
    });
    res.end();
  }
}
