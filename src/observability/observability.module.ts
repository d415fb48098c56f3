import { Module, type DynamicModule, type Provider } from '@nestjs/common';
import { EXECUTOR_OBSERVER } from '../connectors/connectors.module.js';
import { CALL_OBSERVER, CALL_TRACER } from '../mcp/ports.js';
import { BearerToken } from './bearer-token.js';
import { EXPOSITION, MetricsController } from './metrics.controller.js';
import type { Observability } from './observability.js';

/** Binds the ports of whoever is looked at. What is off is not bound. */
@Module({})
export class ObservabilityModule {
  static register({
    callObserver,
    callTracer,
    executorObserver,
    metrics,
    tokenOnMainPort,
  }: Observability): DynamicModule {
    const observers: Provider[] = [
      { provide: CALL_OBSERVER, useValue: callObserver },
      { provide: CALL_TRACER, useValue: callTracer },
      { provide: EXECUTOR_OBSERVER, useValue: executorObserver },
    ].filter(({ useValue }) => useValue !== undefined);
    const onMainPort = metrics !== undefined && tokenOnMainPort !== undefined;
    return {
      module: ObservabilityModule,
      global: true,
      controllers: onMainPort ? [MetricsController] : [],
      providers: [
        ...observers,
        ...(onMainPort
          ? [
              { provide: BearerToken, useValue: tokenOnMainPort },
              { provide: EXPOSITION, useValue: metrics },
            ]
          : []),
      ],
      exports: observers.map((provider) => (provider as { provide: symbol }).provide),
    };
  }
}
