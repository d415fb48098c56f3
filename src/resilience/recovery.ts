import type { EventLog } from '../logging/event-log.js';
import type { CircuitBreaker } from './breaker.js';
import type { Clock } from './clock.js';
import type { Connector } from './connector.js';
import type { CircuitStateName, ProbeOutcome } from './observer.js';
import type { Slot, Slots } from './slots.js';
import type { TokenBucket } from './token-bucket.js';

/**
 * Law 7: recovery needs no user. Two ways, never both at once:
 * - a source that failed at start is connected again and again, with backoff, until once it is healthy;
 * - a circuit that failures opened goes half-open after the reset time, and `health()` is asked until the circuit closes or
 *   opens again. Where only calls heal, it goes half-open and waits for one.
 * A probe is an operation: it takes a free slot and a token that is there, or is skipped.
 */

/** Spec §4.1: the time a health check has. */
const HEALTH_TIMEOUT_MS = 3000;
/** Connecting and its health check together: with the longest backoff, well within the ten seconds a recovery may take. */
const CONNECT_TIMEOUT_MS = 4000;
const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 5000;
/** After a skipped probe; well under the two seconds that recovery may add to the reset time. */
const SKIPPED_RETRY_MS = 250;

export interface RecoveryParts {
  readonly connector: Pick<Connector<unknown>, 'name' | 'connect' | 'health'>;
  readonly breaker: CircuitBreaker;
  readonly slots: Slots;
  readonly bucket: TokenBucket;
  readonly clock: Clock;
  readonly log: EventLog;
  /** In [0, 1). */
  readonly random: () => number;
  readonly probed: (outcome: ProbeOutcome) => void;
}

export class Recovery {
  /** The source has not been connected since the start. */
  #starting = false;
  #attempts = 0;
  #stopped = false;
  /** The question that has not settled; there is never a second one beside it. */
  #asking: AbortController | undefined;
  #planned: { readonly at: number; readonly cancel: () => void } | undefined;

  constructor(private readonly parts: RecoveryParts) {}

  /** Instant of the clock at which the source is asked next; `undefined` when nothing is planned. */
  get nextProbeAt(): number | undefined {
    return this.#planned?.at;
  }

  /** The source failed at start, and its circuit has been forced open. */
  startFailed(): void {
    if (this.#starting || this.#stopped) return;
    this.#starting = true;
    this.#attempts = 0;
    this.#planConnect();
  }

  circuitChanged(to: CircuitStateName): void {
    if (this.#stopped) return;
    if (to === 'closed') {
      this.#starting = false;
      this.#unplan();
    } else if (!this.#starting) {
      // Half-open by a user's call: that call is the probe, so look again a little later.
      this.#plan(to === 'open' ? this.#untilReset() : SKIPPED_RETRY_MS);
    }
  }

  /** Plans nothing any more, and aborts the question that is being asked. */
  stop(): void {
    this.#stopped = true;
    this.#unplan();
    this.#asking?.abort(new Error('shutdown'));
  }

  #step(): void {
    this.#unplan();
    if (this.#starting) return this.#connect();
    const { breaker, clock } = this.parts;
    if (breaker.state.name === 'open') {
      breaker.halfOpenWhenDue(clock.now());
      // A timer may be early by less than a millisecond.
      if (breaker.state.name === 'open') return this.#plan(this.#untilReset());
    }
    this.#unplan();
    if (breaker.state.name === 'half_open' && breaker.state.healing === 'health') this.#probe();
  }

  #connect(): void {
    const slot = this.#takeSlot();
    if (slot === undefined) return this.#skip();
    const question = (signal: AbortSignal): Promise<boolean> => this.#connects(signal);
    void this.#ask(slot, question, CONNECT_TIMEOUT_MS, (healthy) => {
      if (!this.#starting) return;
      if (healthy) this.parts.breaker.forceClosed();
      else this.#planConnect();
    });
  }

  #probe(): void {
    const { breaker, clock } = this.parts;
    // A user's call may be the probe: then neither a slot nor a token is taken.
    const slot = breaker.refuses(clock.now()) ? undefined : this.#takeSlot();
    const ticket = slot === undefined ? undefined : breaker.admit(clock.now());
    if (slot === undefined || ticket === undefined) {
      slot?.giveBack();
      return this.#skip();
    }
    const question = (signal: AbortSignal): Promise<boolean> => this.#isHealthy(signal);
    void this.#ask(slot, question, HEALTH_TIMEOUT_MS, (healthy) => {
      if (healthy) breaker.succeeded(ticket, 'health');
      else breaker.failed(ticket, clock.now(), 'connection');
    });
  }

  /**
   * The answer is `false` when the time is up, but the slot returns only when the question has settled: until then it may
   * hold a connection. The verdict comes before the slot returns, so that who waits for it sees the new state.
   */
  async #ask(
    slot: Slot,
    question: (signal: AbortSignal) => Promise<boolean>,
    timeoutMs: number,
    verdict: (healthy: boolean) => void,
  ): Promise<void> {
    const asking = (this.#asking = new AbortController());
    let answered = false;
    const answer = (healthy: boolean): void => {
      if (answered || this.#stopped) return;
      answered = true;
      this.parts.probed(healthy ? 'success' : 'failure');
      verdict(healthy);
    };
    const cancelTimer = this.parts.clock.after(timeoutMs, () => {
      asking.abort(new Error('the probe timed out'));
      answer(false);
    });
    const healthy = await question(asking.signal);
    cancelTimer();
    answer(healthy);
    this.#asking = undefined;
    slot.giveBack();
    if (!this.#stopped && this.#planned === undefined) this.#step();
  }

  async #connects(signal: AbortSignal): Promise<boolean> {
    const { connector, log } = this.parts;
    this.#attempts += 1;
    try {
      await connector.connect(signal);
    } catch (error) {
      // A source that stays down is tried for hours: the first, second, fourth, eighth… attempt is told.
      if ((this.#attempts & (this.#attempts - 1)) === 0) {
        log.error('connector_recovery_failed', { source: connector.name, attempts: this.#attempts }, error);
      }
      return false;
    }
    return !signal.aborted && (await this.#isHealthy(signal));
  }

  async #isHealthy(signal: AbortSignal): Promise<boolean> {
    const { connector, log } = this.parts;
    try {
      return await connector.health(signal);
    } catch (error) {
      log.error('connector_bug', { source: connector.name }, error);
      return false;
    }
  }

  /** What any operation takes; `undefined` when it is not free, or while a question has not settled. */
  #takeSlot(): Slot | undefined {
    const { bucket, clock, slots } = this.parts;
    const slot = this.#asking === undefined ? slots.take() : undefined;
    if (slot === undefined || bucket.take(clock.now()) !== undefined) return slot;
    slot.giveBack();
    return undefined;
  }

  #skip(): void {
    this.parts.probed('skipped');
    this.#plan(SKIPPED_RETRY_MS);
  }

  #planConnect(): void {
    // Full jitter: replicas that lost the same source do not come back to it together.
    const backoff = Math.min(FIRST_BACKOFF_MS * 2 ** this.#attempts, LONGEST_BACKOFF_MS);
    this.#plan(this.parts.random() * backoff);
  }

  #untilReset(): number {
    const { breaker, clock } = this.parts;
    return breaker.state.name === 'open' ? Math.max(0, breaker.state.until - clock.now()) : 0;
  }

  #plan(delayMs: number): void {
    this.#unplan();
    const { clock } = this.parts;
    this.#planned = { at: clock.now() + delayMs, cancel: clock.after(delayMs, () => this.#step()) };
  }

  #unplan(): void {
    this.#planned?.cancel();
    this.#planned = undefined;
  }
}
