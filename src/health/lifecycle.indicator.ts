import { Injectable } from '@nestjs/common';
import { HealthIndicatorService, type HealthIndicatorResult } from '@nestjs/terminus';
import { Lifecycle } from './lifecycle.js';

const KEY = 'lifecycle';

/** The only health indicator there is: it looks at the process, never at a source. */
@Injectable()
export class LifecycleIndicator {
  constructor(
    private readonly indicators: HealthIndicatorService,
    private readonly lifecycle: Lifecycle,
  ) {}

  /** The process can answer, in every state. */
  alive(): HealthIndicatorResult<typeof KEY> {
    return this.indicators.check(KEY).up();
  }

  /** Started and not stopping. */
  ready(): HealthIndicatorResult<typeof KEY> {
    const indicator = this.indicators.check(KEY);
    return this.lifecycle.state === 'ready' ? indicator.up() : indicator.down();
  }
}
