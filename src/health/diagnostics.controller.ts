import { Controller, Get, Header, UseGuards } from '@nestjs/common';
import { ConnectorRegistry } from '../connectors/connector-registry.js';
import { DiagnosticsGuard } from './diagnostics.guard.js';

/** The state of the sources, for people (architecture §9). The registry caches: asking often does not ask the sources often. */
@Controller()
@UseGuards(DiagnosticsGuard)
export class DiagnosticsController {
  constructor(private readonly registry: ConnectorRegistry) {}

  @Get('diagnostics')
  @Header('Cache-Control', 'no-store')
  async diagnostics(): Promise<{ connectors: Awaited<ReturnType<ConnectorRegistry['diagnostics']>> }> {
    return { connectors: await this.registry.diagnostics() };
  }
}
