import { Controller, Get, Inject, Req, Res, UnauthorizedException } from '@nestjs/common';
import type { Request, Response } from 'express';
import { BearerToken } from './bearer-token.js';
import type { Exposition } from './metrics-server.js';

export const EXPOSITION = Symbol('EXPOSITION');

/** /metrics on the main port, for whoever has the token. Exists only where a token is set and no port of its own. */
@Controller()
export class MetricsController {
  constructor(
    private readonly token: BearerToken,
    @Inject(EXPOSITION) private readonly exposition: Exposition,
  ) {}

  @Get('metrics')
  async metrics(@Req() request: Request, @Res() response: Response): Promise<void> {
    if (!this.token.admits(request.headers.authorization)) {
      response.setHeader('WWW-Authenticate', 'Bearer');
      throw new UnauthorizedException();
    }
    const text = await this.exposition.text();
    // Not express's `send`: it would make an ETag of a text that is never the same.
    response.setHeader('Content-Type', this.exposition.contentType);
    response.setHeader('Cache-Control', 'no-store');
    response.end(text);
  }
}
