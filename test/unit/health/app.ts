import { Global, Module, type DynamicModule } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { ServiceSettings, type Environment } from '../../../src/config/service.settings.js';
import { ConnectorRegistry } from '../../../src/connectors/connector-registry.js';
import { DiagnosticsSettings } from '../../../src/health/diagnostics.settings.js';
import { HealthModule } from '../../../src/health/health.module.js';
import { Lifecycle } from '../../../src/health/lifecycle.js';

export interface AppSketch {
  readonly registry?: Pick<ConnectorRegistry, 'diagnostics'>;
  readonly environment?: Environment;
  readonly token?: string;
  readonly serviceName?: string;
  readonly beforeShutdown?: () => Promise<void>;
}

@Global()
@Module({})
class Surroundings {
  static of({ registry, environment, token, serviceName }: AppSketch): DynamicModule {
    const service = new ServiceSettings();
    service.environment = environment ?? 'local';
    service.serviceName = serviceName ?? 'mcp-corp';
    const providers = [
      { provide: ServiceSettings, useValue: service },
      { provide: DiagnosticsSettings, useValue: Object.assign(new DiagnosticsSettings(), { token }) },
      { provide: ConnectorRegistry, useValue: registry ?? { diagnostics: () => Promise.resolve({}) } },
    ];
    return { module: Surroundings, providers, exports: providers.map(({ provide }) => provide) };
  }
}

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers: http.IncomingHttpHeaders;
}

export interface App {
  readonly lifecycle: Lifecycle;
  readonly written: string[];
  readonly nest: NestExpressApplication;
  get(path: string, headers?: http.OutgoingHttpHeaders): Promise<Answer>;
  close(): Promise<void>;
}

/** The health routes over real HTTP on a port of their own. */
export async function startApp(sketch: AppSketch = {}): Promise<App> {
  let closed = false;
  const written: string[] = [];
  const write = (message: unknown) => void written.push(String(message));
  const hook = { provide: 'hook', useValue: { beforeApplicationShutdown: sketch.beforeShutdown ?? (() => undefined) } };
  const module = await Test.createTestingModule({
    imports: [Surroundings.of(sketch), HealthModule],
    providers: [hook],
  }).compile();
  const nest = module.createNestApplication<NestExpressApplication>({
    bodyParser: false,
    logger: { log: write, error: write, warn: write },
  });
  await nest.listen(0, '127.0.0.1');
  written.length = 0;
  const { port } = nest.getHttpServer().address() as AddressInfo;
  const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
  return {
    lifecycle: module.get(Lifecycle, { strict: false }),
    written,
    nest,
    get: (path, headers = {}) =>
      new Promise((resolve, reject) => {
        const request = http.get({ port, host: '127.0.0.1', path, agent, headers }, (response) => {
          let body = '';
          response.setEncoding('utf8').on('data', (piece: string) => (body += piece));
          response.on('end', () => resolve({ status: response.statusCode ?? 0, body, headers: response.headers }));
        });
        request.on('error', reject);
      }),
    async close() {
      if (closed) return;
      closed = true;
      const closing = nest.close();
      // Idle keep-alive connections end with the agent; the hook may still use it.
      await (sketch.beforeShutdown === undefined ? undefined : closing);
      agent.destroy();
      await closing;
    },
  };
}
