import { createHash, timingSafeEqual } from 'node:crypto';
import {
  Injectable,
  NotFoundException,
  UnauthorizedException,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { ServiceSettings } from '../config/service.settings.js';
import { DiagnosticsSettings } from './diagnostics.settings.js';

const BEARER = /^Bearer +([\x21-\x7e]+) *$/i;

/**
 * /diagnostics is for people (architecture §9): with a token it wants that token, everywhere; without one it is open
 * outside production, and in production it does not exist.
 */
@Injectable()
export class DiagnosticsGuard implements CanActivate {
  readonly #production: boolean;
  readonly #expected: Buffer | undefined;

  constructor(settings: DiagnosticsSettings, service: ServiceSettings) {
    this.#production = service.environment === 'production';
    this.#expected = settings.token === undefined ? undefined : digest(settings.token);
  }

  canActivate(context: ExecutionContext): boolean {
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    if (this.#expected === undefined) {
      if (!this.#production) return true;
      // The answer of a route that does not exist.
      throw new NotFoundException(`Cannot ${request.method} /diagnostics`);
    }
    const given = BEARER.exec(request.headers.authorization ?? '')?.[1];
    // Digests have one length, so the comparison takes one time, whatever was given.
    if (given !== undefined && timingSafeEqual(digest(given), this.#expected)) return true;
    http.getResponse<Response>().setHeader('WWW-Authenticate', 'Bearer');
    throw new UnauthorizedException();
  }
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token, 'utf8').digest();
}
