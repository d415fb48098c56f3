import { Module, type DynamicModule } from '@nestjs/common';
import { ConfigModule, registerAs } from '@nestjs/config';
import type { Settings } from './settings.js';

/** Every section under its own class, for constructors, and under its lower-case name in ConfigService. */
@Module({})
export class SettingsModule {
  static register(settings: Settings): DynamicModule {
    const sections = settings.sections();
    return {
      module: SettingsModule,
      global: true,
      imports: [
        ConfigModule.forRoot({
          // The settings are loaded already; a second reader of the environment would be a second truth.
          ignoreEnvFile: true,
          ignoreEnvVars: true,
          skipProcessEnv: true,
          load: sections.map(([section, values]) =>
            registerAs(section.section.toLowerCase() || 'service', () => values),
          ),
        }),
      ],
      providers: sections.map(([section, values]) => ({ provide: section, useValue: values })),
      exports: [...sections.map(([section]) => section), ConfigModule],
    };
  }
}
