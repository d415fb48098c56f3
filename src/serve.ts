import type { Server } from 'node:http';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule, composition, type Parts } from './app.module.js';
import { AuditTrail } from './audit/audit-trail.js';
import { environmentSecrets } from './config/environment-secrets.js';
import { ServiceSettings } from './config/service.settings.js';
import type { Settings } from './config/settings.js';
import { ConnectorRegistry } from './connectors/connector-registry.js';
import type { Current } from './governance/current.js';
import { GovernanceSettings } from './governance/governance.settings.js';
import { PolicyReload, type ReloadParts } from './governance/reload.js';
import type { ServedPolicy } from './governance/served-policy.js';
import { Lifecycle } from './health/lifecycle.js';
import { FileSinkError } from './logging/file-sink.js';
import type { JsonLogger } from './logging/json-logger.js';
import type { LineSink } from './logging/line-sink.js';
import { CallGate } from './mcp/call-gate.js';
import { Catalogue } from './mcp/catalogue.js';
import { logRegistration } from './mcp/composition.js';
import { limitHttpServer } from './mcp/edge/http-server.js';
import { HttpSettings } from './mcp/http.settings.js';
import type { CallTracer } from './mcp/ports.js';
import { ProtocolEngine } from './mcp/protocol/engine.js';
import { StdioServing } from './mcp/protocol/stdio-serving.js';
import { MetricsSettings } from './observability/metrics.settings.js';
import { Observability } from './observability/observability.js';
import { TracingSettings } from './observability/tracing.settings.js';
import type { Hangup } from './hangup.js';
import type { StopSignal } from './stop-signal.js';

export interface ServeOptions {
  readonly settings: Settings;
  readonly stop: StopSignal;
  readonly logger: JsonLogger;
  /** The sink of `logger`; the audit writes to it too unless it has a file of its own. */
  readonly stdout: LineSink;
  /** For what must not be told through stdout: that stdout cannot be written. */
  readonly stderr: JsonLogger;
  /** The product's own sources and business, or others. */
  readonly parts: Parts;
  /** What callers are governed by; absent = open. */
  readonly served?: Current<ServedPolicy>;
  /** How that is read again, when the hangup says so. */
  readonly reload?: ReloadParts['load'];
  readonly hangup?: Hangup;
  /** One client over stdin and stdout instead of a port. */
  readonly stdio?: boolean;
  readonly onReady?: () => void;
  /** Told as soon as there is a trail: a crash must end its open records. */
  readonly onTrail?: (trail: AuditTrail) => void;
}

/** Something that the process cannot start without; nothing keeps listening. */
const CANNOT_START = 3;

/** Calls that were cut get this long to be answered before their connections are closed, in milliseconds. */
const LAST_ANSWERS_MS = 250;

/** The audit's last records, in milliseconds (architecture §7). */
const LAST_RECORDS_MS = 2000;

/**
 * Composition root and life of the process (architecture §8): build, bind the port, connect the sources, ready; then,
 * when asked to stop, look unready, drain, refuse, finish, cut, close. Resolves to the exit code.
 */
export async function serve(options: ServeOptions): Promise<number> {
  const { settings, stop, logger, parts } = options;
  const service = settings.get(ServiceSettings);
  const log = logger.eventLog('mcp_corp.main');
  logRegistration(logger.eventLog('mcp_corp.tools'), composition(settings, parts));

  let app: NestExpressApplication | undefined;
  let observability: Observability | undefined;
  try {
    observability = await observe(options);
    app = await build(options, observability);
    options.onTrail?.(app.get(AuditTrail));
    log.info('starting_server', {
      service: service.serviceName,
      ...(options.stdio === true ? { transport: 'stdio' } : { host: service.host, port: service.port }),
      environment: service.environment,
    });
    // Over a pipe nothing listens: what would be served on a port is built and that is all.
    if (options.stdio === true) await app.init();
    else {
      await observability.listen();
      await app.listen(service.port, service.host);
    }
  } catch (error) {
    log.error('server_start_failed', { detail: remedyOf(error) }, error);
    await app?.close();
    await observability?.close();
    return CANNOT_START;
  }

  const lifecycle = app.get(Lifecycle);
  if (options.served !== undefined) {
    const policy = app.get(PolicyReload);
    options.hangup?.listen(() => void policy.reload());
  }
  const gone = options.stdio === true ? serveStdio(app, options, observability.callTracer) : undefined;
  await connectSources(app.get(ConnectorRegistry), stop);
  if (!stop.isRequested) {
    lifecycle.started();
    log.info('startup_complete', { service: service.serviceName, environment: service.environment });
    options.onReady?.();
  }

  await (gone === undefined ? stop.requested : Promise.race([stop.requested, gone]));
  log.info('shutdown_initiated', { service: service.serviceName });
  await drain(app, service, options.stdio === true ? 0 : service.drainSeconds);
  await observability.close();
  await app.close();
  if (gone !== undefined) {
    const written = new Promise((resolve) => process.stdout.write('', resolve));
    // A client that does not read must not hold the process.
    await Promise.race([written, delay(LAST_RECORDS_MS, undefined, { ref: false })]);
  }
  log.info('shutdown_complete', { service: service.serviceName });
  await app.get(AuditTrail).flush(LAST_RECORDS_MS);
  return 0;
}

/** Metrics and traces, where the settings ask for them. */
function observe({ settings, logger }: ServeOptions): Promise<Observability> {
  return Observability.of({
    service: settings.get(ServiceSettings),
    metrics: settings.get(MetricsSettings),
    tracing: settings.get(TracingSettings),
    replica: hostname(),
    log: logger.eventLog('mcp_corp.observability'),
  });
}

async function build(
  { settings, logger, stdout, stderr, parts, served, reload }: ServeOptions,
  observability: Observability,
): Promise<NestExpressApplication> {
  const outputs = { standardOutput: stdout, elsewhere: stderr.eventLog('mcp_corp.audit'), replica: hostname() };
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.register(settings, { logger, served, reload, observability, ...outputs }, parts),
    // The bodies of /mcp are read by the edge, once and with its own limit; no other route takes one.
    { bodyParser: false, logger, abortOnError: false },
  );
  app.disable('x-powered-by');
  limitHttpServer(app.getHttpServer());
  return app;
}

/** One client over stdin and stdout; resolves when it has gone and everything that it was to read is written. */
async function serveStdio(
  app: NestExpressApplication,
  { settings, logger, stop }: ServeOptions,
  tracer: CallTracer | undefined,
): Promise<void> {
  const { keyEnv } = settings.get(GovernanceSettings);
  const environment = environmentSecrets();
  const leave = new AbortController();
  void stop.requested.then(() => leave.abort());
  const { stdin: input, stdout: output } = process;
  const serving = new StdioServing({
    ...{ input, output, catalogue: app.get(Catalogue), gate: app.get(CallGate), tracer },
    ...{ serviceName: settings.get(ServiceSettings).serviceName, log: logger.eventLog('mcp_corp.tools') },
    maxBytes: settings.get(HttpSettings).maxBodyBytes,
    credential: () => environment(keyEnv) ?? '',
  });
  output.on('error', () => leave.abort());
  await serving.serve(leave.signal);
}

/** After the port is bound: /ready shows 503 meanwhile. A stop that comes first does not wait for slow sources. */
async function connectSources(registry: ConnectorRegistry, stop: StopSignal): Promise<void> {
  const leave = new AbortController();
  void stop.requested.then(() => leave.abort());
  await registry.connectAll(leave.signal);
}

/**
 * The stop, step by step. The drain ends when our own count of calls is zero: waiting for the HTTP server's close would let
 * one mute socket hold the whole grace.
 */
async function drain(app: NestExpressApplication, service: ServiceSettings, drainSeconds: number): Promise<void> {
  const server: Server = app.getHttpServer();
  const gate = app.get(CallGate);
  const protocol = app.get(ProtocolEngine);
  const trail = app.get(AuditTrail);

  app.get(Lifecycle).stopping();
  // Before Nest's own listener: each client is told not to send its next request on this connection.
  server.prependListener('request', (_request, response) => response.setHeader('Connection', 'close'));
  await delay(drainSeconds * 1000);

  server.close();
  await protocol.endStreams();
  const grace = new AbortController();
  await Promise.race([
    gate.idle().finally(() => grace.abort()),
    delay(service.gracefulShutdownTimeoutSeconds * 1000, undefined, { signal: grace.signal }).catch(() => undefined),
  ]);
  gate.stop();
  gate.abortAll();
  await Promise.race([gate.idle(), delay(LAST_ANSWERS_MS, undefined, { ref: false })]);
  server.closeAllConnections();
  trail.cutOpen('shutdown');
  await protocol.close();
  await app.get(ConnectorRegistry).closeAll();
}

/** What an operator can do about a start that failed. */
function remedyOf(error: unknown): string {
  if (error instanceof FileSinkError)
    return 'the audit cannot be written: correct MCP_CORP_AUDIT__FILE or its permissions';
  const code: unknown = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE')
    return 'the port is taken: choose another MCP_CORP_PORT or MCP_CORP_METRICS__PORT, or end its owner';
  if (code === 'EACCES') return 'this user may not listen there: choose a MCP_CORP_PORT above 1023';
  if (code === 'EADDRNOTAVAIL') return 'no interface has that address: correct MCP_CORP_HOST';
  return 'the application could not be built';
}
