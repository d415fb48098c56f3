import { sql } from 'kysely';
import { z } from 'zod';
import { UnusableAnswerError } from '../../connectors/postgres/postgres-errors.js';
import { type PostgresLease } from '../../connectors/postgres/read-lease.js';
import { statementBuilder } from '../../connectors/postgres/statement-builder.js';
import { type EventLog } from '../../logging/event-log.js';
import { ConnectorError } from '../../resilience/errors.js';
import { type ResilientExecutor } from '../../resilience/executor.js';

/** What all replicas together may open, against what the server has left for them (spec §3.4). Counts of connections. */
export interface BudgetFigures {
  readonly replicas: number;
  readonly pool_size: number;
  /** replicas × pool_size. */
  readonly needed: number;
  readonly max_connections: number;
  /** Kept by the server for superusers and for `pg_use_reserved_connections`. */
  readonly reserved: number;
  /** Held by everybody but this service's replicas when the server was asked. */
  readonly used_by_others: number;
  /** max_connections − reserved − used_by_others. */
  readonly available: number;
  readonly fits: boolean;
  /** ISO 8601, UTC. */
  readonly asked_at: string;
}

export interface ConnectionBudgetParts {
  readonly source: string;
  /** The largest number of replicas that will run. */
  readonly replicas: number;
  readonly poolSize: number;
  readonly log: EventLog;
  readonly wallClock?: () => Date;
}

type Executor = Pick<ResilientExecutor<PostgresLease>, 'run'>;

const answerSchema = z.object({
  max_connections: z.int().nonnegative(),
  reserved: z.int().nonnegative(),
  used_by_others: z.int().nonnegative(),
});

/**
 * `reserved_connections` exists since PostgreSQL 16. Our own replicas are those that log in as this session does: what they
 * hold is what the budget is for. The kind of somebody else's session is shown to monitoring roles only; unknown counts.
 */
const QUESTION = sql`
  select current_setting('max_connections')::int as max_connections,
         current_setting('superuser_reserved_connections')::int
           + coalesce(current_setting('reserved_connections', true)::int, 0) as reserved,
         (select count(*)::int from pg_stat_activity
           where datid is not null
             and coalesce(backend_type, 'client backend') = 'client backend'
             and not (usename = current_user and datname = current_database()
                      and application_name = current_setting('application_name'))) as used_by_others`.compile(
  statementBuilder<object>(),
);

/**
 * Asks the database once, when it is first connected, whether all replicas' pools fit into what it has left, and warns with
 * the sum when not: the last replica would learn it from "too many clients" on the worst day. It is an operation like any
 * other, so it waits for a slot and delays nobody; when it fails, the figures stay unknown and nothing else happens.
 * Behind a pooler the figures say what would be needed without it.
 */
export class ConnectionBudget {
  #figures: BudgetFigures | undefined;
  #asking = false;

  constructor(private readonly parts: ConnectionBudgetParts) {}

  /** Undefined until the database has answered. */
  get figures(): BudgetFigures | undefined {
    return this.#figures;
  }

  /** Returns at once and never throws. */
  ask(executor: Executor): void {
    if (this.#asking || this.#figures) return;
    this.#asking = true;
    void this.#ask(executor).finally(() => (this.#asking = false));
  }

  async #ask(executor: Executor): Promise<void> {
    const { source, log } = this.parts;
    try {
      this.#figures = await this.#read(executor);
    } catch (error) {
      // The executor has logged the cause.
      const reason = error instanceof ConnectorError ? error.code : 'internal_error';
      log.warning('connection_budget_unknown', { source, reason });
      return;
    }
    if (this.#figures.fits) return;
    log.warning('connection_budget_exceeded', { source, detail: sumOf(this.#figures), ...this.#figures });
  }

  async #read(executor: Executor): Promise<BudgetFigures> {
    const { replicas, poolSize, wallClock = () => new Date() } = this.parts;
    const answer = await executor.run(
      async (lease) => {
        const read = answerSchema.safeParse((await lease.query(QUESTION)).rows[0]);
        if (!read.success) throw new UnusableAnswerError();
        return read.data;
      },
      { signal: new AbortController().signal },
    );
    const needed = replicas * poolSize;
    const available = answer.max_connections - answer.reserved - answer.used_by_others;
    const fits = needed <= available;
    return { replicas, pool_size: poolSize, needed, ...answer, available, fits, asked_at: wallClock().toISOString() };
  }
}

function sumOf({ replicas, pool_size, needed, available, ...left }: BudgetFigures): string {
  const rest = `${left.max_connections} − ${left.reserved} reservadas − ${left.used_by_others} de otros`;
  return `${replicas} réplicas × ${pool_size} conexiones = ${needed}, y quedan ${rest} = ${available}`;
}
