import type { JsonLogger } from './json-logger.js';
import type { Level } from './event-log.js';
import { redactText } from './redaction.js';

/**
 * Everything that others would print (Node's warnings, libraries' `console`, the report of an uncaught exception) becomes
 * JSON lines. Armed before anything else is loaded, with a bootstrap logger; `use` hands over to the configured one.
 */
export interface ProcessOutput {
  use(logger: JsonLogger): void;
  /** Gives everything back as it was found. */
  disarm(): void;
}

export type FatalEvent = 'uncaught_exception' | 'unhandled_rejection';

export interface ProcessOutputOptions {
  readonly logger: JsonLogger;
  /** Ends the process; nothing that the program believes of itself is certain any more. Called for the first one only. */
  readonly onFatal: (event: FatalEvent) => void;
}

const CONSOLE_LEVELS = {
  debug: 'DEBUG',
  log: 'INFO',
  info: 'INFO',
  dir: 'INFO',
  dirxml: 'INFO',
  table: 'INFO',
  group: 'INFO',
  groupCollapsed: 'INFO',
  count: 'INFO',
  timeLog: 'INFO',
  timeEnd: 'INFO',
  warn: 'WARNING',
  assert: 'WARNING',
  error: 'ERROR',
  trace: 'ERROR',
} as const satisfies Partial<Record<keyof Console, Level>>;

export function armProcessOutput({ logger: first, onFatal }: ProcessOutputOptions): ProcessOutput {
  let logger = first;
  let ending = false;

  const onWarning = (warning: Error & { code?: unknown }) => {
    const fields = { warning: warning.name, code: warning.code, detail: redactText(warning.message) };
    logger.record('WARNING', 'node', 'process_warning', fields);
  };
  // Without a handler an unhandled rejection comes here too, with its origin.
  const onUncaught = (error: unknown, origin: NodeJS.UncaughtExceptionOrigin) => {
    const event = origin === 'unhandledRejection' ? 'unhandled_rejection' : 'uncaught_exception';
    logger.record('CRITICAL', 'node', event, {}, error ?? 'nothing was thrown');
    if (ending) return;
    ending = true;
    onFatal(event);
  };

  // The listener that Node puts there itself prints every warning to stderr.
  const formerWarningListeners = process.rawListeners('warning');
  process.removeAllListeners('warning');
  process.on('warning', onWarning);
  process.on('uncaughtException', onUncaught);
  const restoreConsole = captureConsole((level, ...record) => logger.record(level, 'console', ...record));

  return {
    use: (configured) => (logger = configured),
    disarm() {
      process.off('warning', onWarning);
      process.off('uncaughtException', onUncaught);
      for (const listener of formerWarningListeners) process.on('warning', listener as NodeJS.WarningListener);
      restoreConsole();
    },
  };
}

type Write = (level: Level, event: string, fields: Record<string, unknown>, cause: unknown) => void;

function captureConsole(write: Write): () => void {
  const former = new Map<keyof typeof CONSOLE_LEVELS, unknown>();
  const target = console as unknown as Record<string, unknown>;
  for (const [method, level] of Object.entries(CONSOLE_LEVELS) as [keyof typeof CONSOLE_LEVELS, Level][]) {
    former.set(method, target[method]);
    target[method] = (...values: unknown[]) => {
      const said = method === 'assert' ? values.slice(1) : values;
      if (method === 'assert' && values[0]) return;
      write(
        level,
        'console_output',
        { detail: redactText(said.map(spoken).join(' ')) },
        said.find((value) => value instanceof Error),
      );
    };
  }
  return () => former.forEach((original, method) => (target[method] = original));
}

/** Objects are only named: who prints one whole prints what is in it. */
function spoken(value: unknown): string {
  if (typeof value === 'object' && value !== null) return `[${value.constructor?.name ?? 'Object'}]`;
  return typeof value === 'function' ? `[${value.name}]` : String(value);
}
