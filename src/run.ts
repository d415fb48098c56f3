import { PARTS, composition, sectionsOf, type Parts } from './app.module.js';
import type { CompileCache } from './compile-cache.js';
import type { AuditTrail } from './audit/audit-trail.js';
import { settingsOfProcess } from './config/environment.js';
import { loadSettings } from './config/load-settings.js';
import { ConfigurationError } from './config/problem.js';
import { ServiceSettings } from './config/service.settings.js';
import type { Settings } from './config/settings.js';
import type { Variables } from './config/variables.js';
import { JsonLogger } from './logging/json-logger.js';
import { GovernanceSettings } from './governance/governance.settings.js';
import { armHangup, type Hangup } from './hangup.js';
import { loadAtStart, type LoadedAtStart } from './load-policy.js';
import type { LineSink } from './logging/line-sink.js';
import { armProcessOutput } from './logging/process-output.js';
import { standardSink } from './logging/standard-sink.js';
import { missingSettings } from './mcp/composition.js';
import { HttpSettings } from './mcp/http.settings.js';
import { serve } from './serve.js';
import type { StopSignal } from './stop-signal.js';
import { VERSION } from './config/version.js';

/** What a dry run needs to know of the product: what it has, how it reads identifiers, and how upstreams are asked. */
export { canonicalBy, governable } from './app.module.js';
export { discoverBy } from './load-policy.js';

/** Exit codes of the process; 0 is an orderly stop. */
export const EXIT = { stopped: 0, crashed: 1, policy: 1, configuration: 2, cannotStart: 3 } as const;

export interface RunOptions {
  readonly stop: StopSignal;
  /** Instead of the environment and the `.env` file of the process. */
  readonly env?: Variables;
  /** What a command line said, by the names of the variables; it wins over them. */
  readonly flags?: Variables;
  /** One client over stdin and stdout instead of a port; what is written goes to stderr. */
  readonly stdio?: boolean;
  /** Instead of the product's own sources and business. */
  readonly parts?: Parts;
  /** Whether the start could use code that was compiled before; told in the log when it could not. */
  readonly compiled?: CompileCache;
  /** Called when the process is ready and has written all it had to say up to then. */
  readonly onReady?: () => void;
}

/** Milliseconds for the last lines of a process that ends. */
const LAST_LINES_MS = 2000;

/**
 * From the environment to the exit code: everything that the process writes becomes JSON lines, the settings are
 * loaded or refused whole (2), so is the policy (1), the server serves until it is stopped (0) or cannot start (3).
 */
export async function run(options: RunOptions): Promise<number> {
  const { stop, env, flags, stdio = false, parts = PARTS, compiled, onReady } = options;
  const [stdout, stderr] = [standardSink('stdout'), standardSink('stderr')];
  // Over stdio the one is the protocol's, and nothing else may ever be written there.
  const output = stdio ? stderr : stdout;
  const bootstrap = loggerTo(output, new ServiceSettings());
  let trail: AuditTrail | undefined;
  const lastLines = () => {
    const outlets = [stdout, stderr, ...(trail === undefined ? [] : [trail])];
    return Promise.all(outlets.map((outlet) => outlet.flush(LAST_LINES_MS)));
  };
  // A program that does not know its own state ends, as Node would end it, after its last lines and records are out.
  const crash = async () => {
    trail?.cutOpen('internal_error');
    await lastLines();
    process.exit(EXIT.crashed);
  };
  const armed = armProcessOutput({ logger: bootstrap, onFatal: () => void crash() });
  const sections = sectionsOf(parts);
  let settings: Settings;
  try {
    settings = env === undefined ? settingsOfProcess(sections, flags) : loadSettings(env, sections);
    const missing = missingSettings(composition(settings, parts), settings.get(HttpSettings));
    if (missing.length > 0) throw new ConfigurationError(missing);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const log = bootstrap.eventLog('mcp_corp.config');
    for (const { variable, problem } of error.problems) log.error('configuration_error', { variable, problem });
    await lastLines();
    return EXIT.configuration;
  }
  const service = settings.get(ServiceSettings);
  const logger = loggerTo(output, service);
  armed.use(logger);
  if (compiled === 'unavailable') {
    const detail = 'the folder of the code is read-only and holds no compiled code: each start compiles it again';
    logger.eventLog('mcp_corp.main').info('compile_cache_unavailable', { detail });
  }
  let hangup: Hangup | undefined;
  try {
    const governed = settings.get(GovernanceSettings).governed;
    if (governed) hangup = armHangup(process);
    const policy: Partial<LoadedAtStart> | Refused = governed ? await policyOf(settings, parts, logger, stop) : {};
    if ('exit' in policy) return policy.exit;
    const ready = onReady && (() => void logger.flush(LAST_LINES_MS).then(onReady));
    return await serve({
      ...{ settings, stop, logger, parts, stdio, ...policy },
      stdout: output,
      stderr: loggerTo(stderr, service),
      hangup,
      onReady: ready,
      onTrail: (built) => (trail = built),
    });
  } finally {
    hangup?.disarm();
    await lastLines();
  }
}

interface Refused {
  readonly exit: number;
}

/** A stop that is asked for during the discovery ends it, and is an orderly one: nothing has been served yet. */
async function policyOf(
  settings: Settings,
  parts: Parts,
  logger: JsonLogger,
  stop: StopSignal,
): Promise<LoadedAtStart | Refused> {
  const leave = new AbortController();
  void stop.requested.then(() => leave.abort());
  const policy = await loadAtStart(settings, parts, logger.eventLog('mcp_corp.governance'), leave.signal);
  return stop.isRequested && 'exit' in policy ? { exit: EXIT.stopped } : policy;
}

function loggerTo(sink: LineSink, { serviceName, environment, logLevel }: ServiceSettings): JsonLogger {
  return new JsonLogger({ sink, level: logLevel, service: serviceName, version: VERSION, environment });
}
