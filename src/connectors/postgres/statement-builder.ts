import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely';

/**
 * Kysely as a writer of SQL and nothing more: it cannot connect. Its own driver cannot discard a connection and lends one
 * whose statement still runs (architecture §5). Compile once per shape of a query, then give each call its parameters:
 * `lease.query({ ...STATEMENT, parameters: [value] })`.
 */
export function statementBuilder<Tables>(): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (database) => new PostgresIntrospector(database),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
}
