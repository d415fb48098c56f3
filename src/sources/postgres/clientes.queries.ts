import { type PostgresLease } from '../../connectors/postgres/read-lease.js';
import { UnusableAnswerError } from '../../connectors/postgres/postgres-errors.js';
import { statementBuilder } from '../../connectors/postgres/statement-builder.js';
import { type RunOptions } from '../../resilience/connector.js';
import { type ResilientExecutor } from '../../resilience/executor.js';
import { type Cliente, clienteSchema } from './cliente.js';

/** The columns that this source reads, as the database promises them; `clienteSchema` checks that it keeps its promise. */
interface Tables {
  readonly clientes: {
    readonly cedula: string;
    readonly nombre: string;
    readonly email: string;
    readonly estado: string;
  };
}

const POR_CEDULA = statementBuilder<Tables>()
  .selectFrom('clientes')
  .select(['cedula', 'nombre', 'email', 'estado'])
  .where('cedula', '=', '') // each call brings its own parameter
  .compile();

/** The questions that the customer database is asked. */
export class ClientesQueries {
  constructor(private readonly executor: Pick<ResilientExecutor<PostgresLease>, 'run'>) {}

  /** `cedula`: the canonical short form. Null: there is no such customer. Throws as `ResilientExecutor.run`. */
  porCedula(cedula: string, options: RunOptions): Promise<Cliente | null> {
    return this.executor.run(async (lease) => {
      const { rows } = await lease.query({ ...POR_CEDULA, parameters: [cedula] });
      const [row] = rows;
      if (row === undefined) return null;
      const read = clienteSchema.safeParse(row);
      // Nothing of zod's error goes on: it may quote the row. Somebody else's row is never data either (defect F1).
      if (!read.success || read.data.cedula !== cedula) throw new UnusableAnswerError();
      return read.data;
    }, options);
  }
}
