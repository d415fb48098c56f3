import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type EventEmitter } from 'node:events';
import { HttpConnector } from '../../../../src/connectors/http/http-connector.js';
import { HttpSourceSettings } from '../../../../src/connectors/http/http-source-settings.js';
import { type SourceResolver } from '../../../../src/connectors/source-resolver.js';
import { type Clock } from '../../../../src/resilience/clock.js';
import { type ConnectorRunOptions } from '../../../../src/resilience/connector.js';
import { ResilientExecutor } from '../../../../src/resilience/executor.js';
import { RecordedLog } from '../support/recorded-log.js';

export class ApiSettings extends HttpSourceSettings {
  static readonly section = 'API';
}

export function apiSettings(baseUrl: string, values: Partial<ApiSettings> = {}): ApiSettings {
  return Object.assign(new ApiSettings(), { enabled: true, baseUrl }, values);
}

export interface Api {
  readonly connector: HttpConnector;
  readonly log: RecordedLog;
  readonly settings: ApiSettings;
}

export function apiAt(
  baseUrl: string,
  values: Partial<ApiSettings> = {},
  options: { resolver?: SourceResolver; wallClock?: () => number; clock?: Clock } = {},
): Api {
  const log = new RecordedLog();
  const settings = apiSettings(baseUrl, values);
  return { connector: new HttpConnector({ name: 'api', settings, log, ...options }), log, settings };
}

export function executorOf({ connector, log, settings }: Api): ResilientExecutor<HttpExchangeOf> {
  return new ResilientExecutor({ connector, settings: settings.executorSettings(), log });
}
type HttpExchangeOf = Parameters<Parameters<HttpConnector['run']>[0]>[0];

/** Signals that nobody aborts. */
export const patient = (): ConnectorRunOptions => ({
  signal: new AbortController().signal,
  kill: new AbortController().signal,
});

/** What a promise rejects with; fails when it does not. */
export async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('it was expected to reject');
}

export const get = (connector: HttpConnector, ...segments: string[]): Promise<unknown> =>
  connector.run((exchange) => exchange.getJson(segments), patient());

/** Counts what Node itself says it has opened and closed: our side of the wire. */
export function openOnOurSide(
  channel: 'http.client.request.start' | 'net.client.socket',
  property: 'request' | 'socket',
): { gone(): Promise<void>; stop(): { seen: number; most: number; left: number } } {
  let seen = 0;
  let wake = (): void => undefined;
  let most = 0;
  const open = new Set<unknown>();
  const opened = (message: unknown): void => {
    const emitter = (message as Record<string, EventEmitter>)[property];
    seen += 1;
    open.add(emitter);
    most = Math.max(most, open.size);
    emitter?.once('close', () => {
      open.delete(emitter);
      wake();
    });
  };
  subscribe(channel, opened);
  return {
    /** Resolves when nothing is open. */
    async gone() {
      while (open.size > 0) await new Promise<void>((resolve) => (wake = resolve));
    },
    stop: () => {
      unsubscribe(channel, opened);
      return { seen, most, left: open.size };
    },
  };
}
