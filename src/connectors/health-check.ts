import { type Connector } from '../resilience/connector.js';
import { type Clock } from '../resilience/clock.js';
import { bounded } from './bounded.js';

/** How long an answer is given again without asking the source. Milliseconds. */
const FRESH_MS = 2_000;
/** How long one check may take before it counts as unhealthy (spec §4.1). Milliseconds. */
export const HEALTH_LIMIT_MS = 3_000;

/**
 * The health of one source for people who ask often (spec §11: C6): one check at a time, however many ask, and none while
 * the last one is fresh.
 */
export class HealthCheck {
  #last?: { readonly healthy: boolean; readonly until: number };
  #flight?: Promise<boolean>;

  constructor(
    private readonly connector: Pick<Connector<unknown>, 'health'>,
    private readonly clock: Clock,
  ) {}

  /** Never rejects; takes at most HEALTH_LIMIT_MS. */
  healthy(): Promise<boolean> {
    if (this.#last && this.clock.now() < this.#last.until) return Promise.resolve(this.#last.healthy);
    this.#flight ??= this.#check().finally(() => (this.#flight = undefined));
    return this.#flight;
  }

  /** Remembers what was learnt elsewhere, so that the source is not asked again at once. */
  learn(healthy: boolean): void {
    this.#last = { healthy, until: this.clock.now() + FRESH_MS };
  }

  async #check(): Promise<boolean> {
    const answer = bounded((signal) => this.connector.health(signal), { clock: this.clock, limitMs: HEALTH_LIMIT_MS });
    const healthy = await answer.catch(() => false);
    this.learn(healthy);
    return healthy;
  }
}
