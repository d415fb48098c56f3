import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { DiagnosticsController } from './diagnostics.controller.js';
import { DiagnosticsGuard } from './diagnostics.guard.js';
import { HealthController } from './health.controller.js';
import { Lifecycle } from './lifecycle.js';
import { LifecycleIndicator } from './lifecycle.indicator.js';

@Module({
  // Terminus would log every 503 of /ready, and its sleep on shutdown never ends with a busy client (architecture §8).
  imports: [TerminusModule.forRoot({ logger: false, gracefulShutdownTimeoutMs: 0 })],
  controllers: [HealthController, DiagnosticsController],
  providers: [Lifecycle, LifecycleIndicator, DiagnosticsGuard],
  exports: [Lifecycle],
})
export class HealthModule {}
