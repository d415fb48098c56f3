import { type EventLog } from '../logging/event-log.js';
import { type Clock, systemClock } from '../resilience/clock.js';
import { type Connector } from '../resilience/connector.js';
import { ResilientExecutor } from '../resilience/executor.js';
import { type ExecutorObserver } from '../resilience/observer.js';
import { type ExecutorSnapshot } from '../resilience/snapshot.js';
import { bounded } from './bounded.js';
import { HealthCheck } from './health-check.js';
import { type SourceSettings } from './source-settings.js';

/** What `connectAll` waits for all sources together (the reference's pool open timeout, spec §1.2). Milliseconds. */
const CONNECT_LIMIT_MS = 10_000;
/** What `closeAll` waits for an executor beyond its cancel grace, and for a connector. Milliseconds. */
const CLOSE_LIMIT_MS = 3_000;

export interface ConnectorRegistryOptions {
  /** `mcp_corp.connectors`. */
  readonly log: EventLog;
  /** `mcp_corp.resilience`, for the executors. */
  readonly executorLog: EventLog;
  readonly observer?: ExecutorObserver;
  readonly clock?: Clock;
}

/** One source in /diagnostics (spec §2.3, architecture §9). */
export interface SourceDiagnostics extends ExecutorSnapshot {
  /** The source answers its health check and its circuit is not open. At most 2 s old. */
  readonly healthy: boolean;
  /** The connector's own figures; empty when it has none. */
  readonly pool: Readonly<Record<string, number>>;
}

/** One source for the metrics: the same without asking anybody. */
export type SourceFigures = Omit<SourceDiagnostics, 'healthy'> & {
  /** More fields, as the source's companion gives them. */
  readonly more: Readonly<Record<string, unknown>>;
};

/** What a source may add to its connector and its executor. Neither may throw or take time. */
export interface SourceCompanion {
  /** The source has been connected for the first time: at start, or later when it was down then. */
  connected?(): void;
  /** More fields of its entry in /diagnostics. */
  diagnostics?(): Readonly<Record<string, unknown>>;
}

interface Entry {
  readonly connector: Pick<Connector<never>, 'name' | 'connect' | 'close' | 'health' | 'stats'>;
  readonly executor: Pick<ResilientExecutor<never>, 'snapshot' | 'startFailed' | 'startSucceeded' | 'close'>;
  readonly health: HealthCheck;
  readonly cancelGraceMs: number;
  readonly companion: SourceCompanion;
}

/**
 * Who is talked to, under which executor (spec §2.2, its defects B4, B5, B16, C6, C7 mended; architecture §5). Nothing
 * that one source does at start or at the end stops the process or another source.
 */
export class ConnectorRegistry {
  readonly #entries = new Map<string, Entry>();
  readonly #log: EventLog;
  readonly #clock: Clock;

  constructor(private readonly options: ConnectorRegistryOptions) {
    this.#log = options.log;
    this.#clock = options.clock ?? systemClock;
  }

  /** Builds the executor of a source. Throws when the name is taken. */
  register<R>(
    connector: Connector<R>,
    settings: Pick<SourceSettings, 'executorSettings'>,
    companion: SourceCompanion = {},
  ): ResilientExecutor<R> {
    if (this.has(connector.name)) throw new Error(`source '${connector.name}' is registered already`);
    const executorSettings = settings.executorSettings();
    const executor = new ResilientExecutor<R>({
      connector,
      settings: executorSettings,
      clock: this.#clock,
      log: this.options.executorLog,
      observer: this.options.observer,
    });
    const health = new HealthCheck(connector, this.#clock);
    const { cancelGraceMs } = executorSettings;
    this.#entries.set(connector.name, { connector, executor, health, cancelGraceMs, companion });
    return executor;
  }

  has(name: string): boolean {
    return this.#entries.has(name);
  }

  /** In order of registration. */
  names(): readonly string[] {
    return [...this.#entries.keys()];
  }

  /**
   * Connects all sources in parallel, in at most 10 s. Never rejects: a source that fails starts with its circuit open
   * and is retried in the background by its executor (law 7). An abort leaves the rest as it is.
   */
  async connectAll(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#all().map((entry) => this.#connect(entry, signal)));
  }

  /** Closes all sources in parallel, each in bounded time. Never rejects: what fails is logged. */
  async closeAll(): Promise<void> {
    await Promise.all(this.#all().map((entry) => this.#close(entry)));
  }

  /**
   * One entry for each source. Asking often does not ask the sources often: see HealthCheck. An open circuit is unhealthy
   * without asking: its executor is asking already.
   */
  async diagnostics(): Promise<Record<string, SourceDiagnostics>> {
    const entries = this.#all().map(async (entry) => [entry.connector.name, await this.#diagnose(entry)] as const);
    return Object.fromEntries(await Promise.all(entries));
  }

  /** As they stand: no source is asked anything. In order of registration. */
  figures(): SourceFigures[] {
    return this.#all().map(({ connector, executor, companion }) => ({
      ...executor.snapshot(),
      pool: connector.stats?.() ?? {},
      more: companion.diagnostics?.() ?? {},
    }));
  }

  #all(): Entry[] {
    return [...this.#entries.values()];
  }

  async #connect({ connector, executor, health, companion }: Entry, signal: AbortSignal): Promise<void> {
    const source = connector.name;
    try {
      const healthy = await bounded(
        async (limit) => {
          await connector.connect(limit);
          return connector.health(limit);
        },
        { clock: this.#clock, limitMs: CONNECT_LIMIT_MS, signal },
      );
      health.learn(healthy);
      if (healthy) {
        this.#log.info('connector_startup_ok', { source });
        executor.startSucceeded();
        companion.connected?.();
        return;
      }
      const detail = 'connect() no lanzó, pero health() no está sano; el circuito queda abierto';
      this.#log.warning('connector_startup_degraded', { source, detail });
    } catch (error) {
      // Shutdown during the start says nothing about the source.
      if (signal.aborted) return;
      const detail = 'arranca en modo degradado; el circuito queda abierto';
      this.#log.error('connector_startup_failed', { source, detail }, error);
    }
    executor.startFailed(() => companion.connected?.());
  }

  async #close({ connector, executor, cancelGraceMs }: Entry): Promise<void> {
    // The executor first: it refuses new calls and ends those under way, so that the connector has nothing left to lend.
    await this.#closePart(connector.name, 'executor', cancelGraceMs + CLOSE_LIMIT_MS, () => executor.close());
    await this.#closePart(connector.name, 'connector', CLOSE_LIMIT_MS, () => connector.close());
  }

  async #closePart(source: string, part: string, limitMs: number, close: () => Promise<void>): Promise<void> {
    try {
      await bounded(close, { clock: this.#clock, limitMs });
    } catch (error) {
      this.#log.error('connector_close_failed', { source, part }, error);
    }
  }

  async #diagnose({ connector, executor, health, companion }: Entry): Promise<SourceDiagnostics> {
    const open = (): boolean => executor.snapshot().circuit_state === 'open';
    const answers = !open() && (await health.healthy());
    // Read after the check, all in one turn: the entry is consistent in itself.
    const own = { ...executor.snapshot(), healthy: answers && !open(), pool: connector.stats?.() ?? {} };
    return { ...companion.diagnostics?.(), ...own };
  }
}
