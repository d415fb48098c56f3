import { Controller, Get, Inject, Optional, ServiceUnavailableException } from '@nestjs/common';
import { HealthCheck, HealthCheckService, type HealthCheckResult, type HealthIndicatorResult } from '@nestjs/terminus';
import { ServiceSettings } from '../config/service.settings.js';
import { LifecycleIndicator } from './lifecycle.indicator.js';

/** `() => string`: the version of the policy that is obeyed. Bound where there is one. */
export const POLICY_VERSION = Symbol('POLICY_VERSION');

/** Bodies of spec §8.5, and in policy mode the version of the policy. */
interface StatusBody {
  readonly status: 'ok' | 'ready' | 'not_ready';
  readonly service: string;
  readonly policy_version?: string;
}

@Controller()
export class HealthController {
  constructor(
    private readonly checks: HealthCheckService,
    private readonly indicator: LifecycleIndicator,
    private readonly service: ServiceSettings,
    @Optional() @Inject(POLICY_VERSION) private readonly policyVersion?: () => string,
  ) {}

  @Get('health')
  @HealthCheck({ noCache: true, swaggerDocumentation: false })
  async health(): Promise<StatusBody> {
    await this.isUp(() => this.indicator.alive());
    const { policyVersion } = this;
    const version = policyVersion && { policy_version: policyVersion() };
    return { status: 'ok', service: this.service.serviceName, ...version };
  }

  @Get('ready')
  @HealthCheck({ noCache: true, swaggerDocumentation: false })
  async ready(): Promise<StatusBody> {
    const up = await this.isUp(() => this.indicator.ready());
    if (up) return { status: 'ready', service: this.service.serviceName };
    throw new ServiceUnavailableException({ status: 'not_ready', service: this.service.serviceName });
  }

  /** The indicator decides, and not terminus's own idea of shutting down: ours begins with the drain, long before. */
  private async isUp(indicator: () => HealthIndicatorResult): Promise<boolean> {
    const { details } = await this.checks.check([indicator]).catch((error: unknown) => {
      if (error instanceof ServiceUnavailableException) return error.getResponse() as HealthCheckResult;
      throw error;
    });
    return Object.values(details).every(({ status }) => status === 'up');
  }
}
