import { Module, type DynamicModule, type FactoryProvider, type Provider } from '@nestjs/common';
import { EXECUTOR_OBSERVER } from '../connectors/connectors.module.js';
import { CALL_OBSERVER, CALL_TRACER } from '../mcp/ports.js';
import { BearerToken } from './bearer-token.js';
import { EXPOSITION, MetricsController } from './metrics.controller.js';
import type { Figures } from './metrics/metrics.js';
import type { Observability } from './observability.js';

/** Told what there is to be looked at, once the application is built. */
const ATTACHED = Symbol('ATTACHED');

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

  /** For the one module that sees everybody whose figures are shown. */
  static attach(
    { metrics }: Observability,
    { inject, useFactory }: Pick<FactoryProvider<Figures>, 'inject' | 'useFactory'>,
  ): Provider[] {
    if (metrics === undefined) return [];
    return [{ provide: ATTACHED, inject, useFactory: async (...parts) => metrics.attach(await useFactory(...parts)) }];
  }
}
