import { type HttpExchange } from '../../connectors/http/http-exchange.js';
import { type RunOptions } from '../../resilience/connector.js';
import { type ResilientExecutor } from '../../resilience/executor.js';
import { type Saldo, saldoOf } from './saldo.js';

const NOT_FOUND = 404;

/** What we ask the balance API. */
export class SaldosClient {
  constructor(private readonly executor: Pick<ResilientExecutor<HttpExchange>, 'run'>) {}

  /**
   * The balance of a canonical identifier; null when the API knows none. Throws ConnectorError: a body that is malformed
   * or about somebody else is a source that is unavailable, never data.
   */
  porCedula(cedula: string, options: RunOptions): Promise<Saldo | null> {
    return this.executor.run(async (exchange, signal) => {
      const { status, body } = await exchange.getJson(['saldos', cedula], { signal });
      return status === NOT_FOUND ? null : saldoOf(body, cedula);
    }, options);
  }
}
