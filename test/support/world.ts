import { startSaldoStub, type SaldoStub } from '../../deploy/dev/saldo-api-stub.mjs';
import { createDatabase, type TestDatabase } from './database.js';

/** Both sources for one test file: a database with the seed, and the balance stub. */
export interface World {
  readonly database: TestDatabase;
  readonly stub: SaldoStub;
  /** Environment that enables both sources; `postgres` and `saldo` alone enable one. */
  readonly env: Readonly<Record<string, string>>;
  readonly postgres: Readonly<Record<string, string>>;
  readonly saldo: Readonly<Record<string, string>>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Key of the pseudonyms' vectors in the spec. */
export const AUDIT_KEY = 'clave-secreta-de-prueba-a';

export async function createWorld(): Promise<World> {
  const database = await createDatabase();
  const stub = await startSaldoStub({ port: 0 });
  const postgres = { MCP_CORP_POSTGRES__ENABLED: 'true', MCP_CORP_POSTGRES__DSN: database.dsn };
  const saldo = { MCP_CORP_SALDO_API__ENABLED: 'true', MCP_CORP_SALDO_API__BASE_URL: stub.url };
  return {
    database,
    stub,
    postgres,
    saldo,
    env: { ...postgres, ...saldo, MCP_CORP_AUDIT_HMAC_SECRET: AUDIT_KEY },
    async [Symbol.asyncDispose]() {
      await stub.close();
      await database.drop();
    },
  };
}
