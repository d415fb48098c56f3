import 'reflect-metadata';
import { EventEmitter } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule, SECTIONS } from '../../src/app.module.js';
import { loadSettings } from '../../src/config/load-settings.js';
import { JsonLogger } from '../../src/logging/json-logger.js';
import type { LineSink } from '../../src/logging/line-sink.js';
import type { ChangeBus, ChangeEvent } from '../../src/mcp/changes.js';
import { limitHttpServer } from '../../src/mcp/edge/http-server.js';
import { FixturesModule } from './fixtures/fixtures.module.js';

export interface Replica {
  readonly port: number;
  close(): Promise<void>;
}

/** Not a secret: it signs the states of this run only. The same for all replicas, which is the point of the run. */
const ENV = { MCP_CORP_HTTP__STATE_SECRET: 'la misma clave para las dos réplicas', MCP_CORP_LOG_LEVEL: 'WARNING' };

/** Applications as `serve` builds them, with the fixtures beside the product's modules. `lines` gets what they write. */
export async function startReplicas(count: number, lines: string[]): Promise<Replica[]> {
  const bus = sharedBus();
  const replicas: Replica[] = [];
  for (let index = 0; index < count; index++) replicas.push(await startReplica(`replica-${index + 1}`, bus, lines));
  return replicas;
}

async function startReplica(replica: string, bus: ChangeBus, lines: string[]): Promise<Replica> {
  const settings = loadSettings(ENV, SECTIONS);
  const sink: LineSink = {
    write: (line) => lines.push(line) > 0,
    unwrittenBytes: 0,
    failure: undefined,
    flush: () => Promise.resolve(true),
  };
  const logger = new JsonLogger({ sink, level: 'WARNING', service: 'conformance', version: '0', environment: 'local' });
  const outputs = { logger, standardOutput: sink, elsewhere: logger.eventLog('mcp_corp.audit'), replica };

  @Module({ imports: [AppModule.register(settings, outputs), FixturesModule.register(bus)] })
  class Replica {}

  const options = { bodyParser: false, logger, abortOnError: false } as const;
  const app = await NestFactory.create<NestExpressApplication>(Replica, options);
  limitHttpServer(app.getHttpServer());
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as AddressInfo;
  return {
    port,
    async close() {
      app.getHttpServer().closeAllConnections();
      await app.close();
    },
  };
}

/** Stands for what replicas of different processes would share (Redis, NATS); everything that crosses it is JSON. */
function sharedBus(): ChangeBus {
  const emitter = new EventEmitter().setMaxListeners(0);
  return {
    publish: (event) => void emitter.emit('change', JSON.stringify(event)),
    subscribe(listener) {
      const heard = (message: string) => listener(JSON.parse(message) as ChangeEvent);
      emitter.on('change', heard);
      return () => void emitter.off('change', heard);
    },
  };
}
