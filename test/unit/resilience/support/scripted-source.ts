import type { Clock } from '../../../../src/resilience/clock.js';
import type {
  Connector,
  ConnectorRunOptions,
  Failure,
  Operation,
  RunOptions,
} from '../../../../src/resilience/connector.js';

/** An error that says itself what the connector's `classify` makes of it. */
export class ScriptedError extends Error {
  constructor(readonly failure: Failure) {
    super('host=10.9.8.7 user=secreto');
  }
}

/** What the source does with one call. */
export interface Script {
  /** Milliseconds before the connector begins the operation. */
  readonly connectMs: number;
  /** Milliseconds the operation then takes; Infinity = it never answers. */
  readonly answerMs: number;
  /** How it ends; `undefined` = it answers. */
  readonly failure?: Failure;
  /** The connector throws where it should reject. */
  readonly throwsAtOnce?: boolean;
  /** Milliseconds from the polite signal until the resource is back; Infinity = it ignores the signal. */
  readonly stopMs: number;
}

export const answersAtOnce: Script = { connectMs: 0, answerMs: 0, stopMs: 0 };
/** Never answers, but stops when asked. */
export const hangs: Script = { ...answersAtOnce, answerMs: Infinity };
/** Never answers and stops only when killed. */
export const ignores: Script = { ...hangs, stopMs: Infinity };
/** Never gets a connection; stops when asked. */
export const neverConnects: Script = { ...hangs, connectMs: Infinity };

export function fails(failure: Failure): Script {
  return { ...answersAtOnce, failure };
}

export interface Lease {
  perform(script: Script): Promise<string>;
}

/** One use of the source that went through `connector.run`. */
export interface Use {
  readonly label: string;
  readonly startedAt: number;
  endedAt?: number;
  politeAt?: number;
  killedAt?: number;
}

/** A source that keeps to the contract of connectors and does with each call what the call's script says. */
export class ScriptedSource implements Connector<Lease> {
  readonly uses: Use[] = [];
  live = 0;
  mostLive = 0;
  healthChecks = 0;
  connects = 0;
  onHealth: (signal: AbortSignal) => Promise<boolean> = () => Promise.resolve(true);
  onConnect: (signal: AbortSignal) => Promise<void> = () => Promise.resolve();

  constructor(
    private readonly clock: Clock,
    readonly name = 'fuente',
  ) {}

  connect(signal: AbortSignal): Promise<void> {
    this.connects += 1;
    return this.#counted(() => this.onConnect(signal));
  }

  health(signal: AbortSignal): Promise<boolean> {
    this.healthChecks += 1;
    return this.#counted(() => this.onHealth(signal));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  classify(error: unknown): Failure {
    return error instanceof ScriptedError ? error.failure : { kind: 'bug' };
  }

  run<T>(operation: Operation<Lease, T>, { signal, kill, account }: ConnectorRunOptions): Promise<T> {
    const script = account?.secret as Script;
    const use: Use = { label: account?.key ?? '', startedAt: this.clock.now() };
    this.uses.push(use);
    if (script.throwsAtOnce === true) {
      use.endedAt = use.startedAt;
      throw new ScriptedError(script.failure ?? { kind: 'bug' });
    }
    return this.#counted(
      () =>
        new Promise<T>((resolve, reject) => {
          const lease: Lease = { perform: (asked) => this.#perform(asked) };
          signal.addEventListener('abort', () => {
            use.politeAt = this.clock.now();
            this.#after(script.stopMs, () => reject(signal.reason as Error));
          });
          kill.addEventListener('abort', () => {
            use.killedAt = this.clock.now();
            reject(new Error('killed'));
          });
          this.#after(script.connectMs, () => {
            operation(lease, signal).then(resolve, reject);
          });
        }),
      use,
    );
  }

  async #counted<T>(work: () => Promise<T>, use?: Use): Promise<T> {
    this.live += 1;
    this.mostLive = Math.max(this.mostLive, this.live);
    try {
      return await work();
    } finally {
      this.live -= 1;
      if (use !== undefined) use.endedAt = this.clock.now();
    }
  }

  #perform(script: Script): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#after(script.answerMs, () => {
        if (script.failure === undefined) resolve('respuesta');
        else reject(new ScriptedError(script.failure));
      });
    });
  }

  #after(milliseconds: number, task: () => void): void {
    if (milliseconds === 0) task();
    else if (milliseconds !== Infinity) this.clock.after(milliseconds, task);
  }
}

/** The operation and the options of a call that follows a script. */
export function scripted(
  script: Script,
  label = '',
  options: Partial<RunOptions> = {},
): [Operation<Lease, string>, RunOptions] {
  return [
    (lease) => lease.perform(script),
    { signal: new AbortController().signal, account: { key: label, secret: script }, ...options },
  ];
}
