/**
 * What a caller of the executor may be told (law 8). The messages are the reference's (spec §3.3), word by word; nothing
 * of the cause is in them. Each class has a stable `code`.
 */
export type ConnectorErrorCode = 'circuit_open' | 'saturated' | 'rate_limited' | 'timeout' | 'unavailable' | 'rejected';

export abstract class ConnectorError extends Error {
  abstract readonly code: ConnectorErrorCode;

  constructor(
    message: string,
    readonly source: string,
    /** Seconds after which asking again makes sense, where known. */
    readonly retryAfterSeconds?: number,
  ) {
    super(message);
    this.name = new.target.name;
  }
}

export class CircuitOpenError extends ConnectorError {
  readonly code = 'circuit_open';
  constructor(source: string, retryAfterSeconds?: number) {
    super(`fuente '${source}' no disponible temporalmente (circuito abierto)`, source, retryAfterSeconds);
  }
}

export class SaturatedError extends ConnectorError {
  readonly code = 'saturated';
  constructor(source: string, retryAfterSeconds?: number) {
    super(`fuente '${source}' saturada: límite de concurrencia excedido`, source, retryAfterSeconds);
  }
}

export class RateLimitedError extends ConnectorError {
  readonly code = 'rate_limited';
  constructor(source: string, retryAfterSeconds?: number) {
    super(`fuente '${source}' saturada: límite de tasa excedido`, source, retryAfterSeconds);
  }
}

export class OperationTimeoutError extends ConnectorError {
  readonly code = 'timeout';
  constructor(source: string) {
    super(`operación contra '${source}' excedió el timeout`, source);
  }
}

export class SourceUnavailableError extends ConnectorError {
  readonly code = 'unavailable';
  constructor(source: string, retryAfterSeconds?: number) {
    super(`fuente '${source}' no disponible`, source, retryAfterSeconds);
  }
}

export class RejectedError extends ConnectorError {
  readonly code = 'rejected';
  constructor(source: string) {
    super(`fuente '${source}' rechazó la operación`, source);
  }
}
