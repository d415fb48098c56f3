import { Module, type DynamicModule } from '@nestjs/common';
import { JsonLogger } from './json-logger.js';

/** The logger that `serve` made, for every constructor that asks for it. */
@Module({})
export class LoggingModule {
  static register(logger: JsonLogger): DynamicModule {
    return {
      module: LoggingModule,
      global: true,
      providers: [{ provide: JsonLogger, useValue: logger }],
      exports: [JsonLogger],
    };
  }
}
