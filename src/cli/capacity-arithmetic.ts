/**
 * How many replicas a database and an API bear (spec §3.4). All limits of the server are per replica, and an update starts the
 * new replica before it stops the old one: so every ceiling is divided by the replicas plus the surge.
 */
export interface CapacityQuestion {
  /** Largest number of replicas that is to run. */
  readonly replicas: number;
  /** Replicas above that number while an update runs. */
  readonly surge: number;
  /** `MCP_CORP_POSTGRES__MAX_POOL_SIZE`. */
  readonly pool: number;
  /** `MCP_CORP_POSTGRES__MAX_CONCURRENCY`; at most the pool. */
  readonly concurrency: number;
  /** The database's `max_connections`. */
  readonly maxConnections: number;
  /** Connections kept for its superusers and its own workers. */
  readonly reserved: number;
  /** Connections that everybody else uses. */
  readonly others: number;
  /** Requests that the API bears at a time; undefined: not asked. */
  readonly apiCeiling?: number;
  /** `MCP_CORP_SALDO_API__MAX_CONCURRENCY`. */
  readonly apiConcurrency: number;
  /** Mean time of one operation at the source, in milliseconds; undefined: not asked. */
  readonly operationMs?: number;
}

export interface CapacityAnswer {
  readonly atOnce: number;
  readonly database: {
    readonly usable: number;
    readonly used: number;
    readonly fits: boolean;
    /** 0: not even one. */
    readonly largestReplicas: number;
    /** For the replicas asked about; 0: none is left for each. */
    readonly largestPool: number;
  };
  readonly api?: {
    readonly ceiling: number;
    readonly used: number;
    readonly fits: boolean;
    readonly largestConcurrency: number;
    readonly largestReplicas: number;
  };
  /** Operations per second that the slots of all replicas let through (Little's law); the source itself may bear less. */
  readonly operationsPerSecond?: number;
  readonly fits: boolean;
}

export function capacityOf(question: CapacityQuestion): CapacityAnswer {
  const { replicas, surge, pool, concurrency, apiCeiling, apiConcurrency, operationMs } = question;
  const atOnce = replicas + surge;
  const most = (ceiling: number, each: number) => Math.max(0, Math.floor(ceiling / each) - surge);

  const usable = Math.max(0, question.maxConnections - question.reserved - question.others);
  const database = {
    usable,
    used: atOnce * pool,
    fits: atOnce * pool <= usable,
    largestReplicas: most(usable, pool),
    largestPool: Math.floor(usable / atOnce),
  };
  const api =
    apiCeiling === undefined
      ? undefined
      : {
          ceiling: apiCeiling,
          used: atOnce * apiConcurrency,
          fits: atOnce * apiConcurrency <= apiCeiling,
          largestConcurrency: Math.floor(apiCeiling / atOnce),
          largestReplicas: most(apiCeiling, apiConcurrency),
        };
  return {
    atOnce,
    database,
    api,
    operationsPerSecond: operationMs === undefined ? undefined : (replicas * concurrency * 1000) / operationMs,
    fits: database.fits && (api?.fits ?? true),
  };
}
