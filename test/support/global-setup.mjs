// @ts-check
/**
 * One PostgreSQL for the whole run. Each test file copies its own database from the template `seed` in some 30 ms
 * (`createDatabase()` in database.ts), so files cannot see each other's rows.
 */
import fs from 'node:fs';
import path from 'node:path';
import { runSql, startPostgres } from '../../scripts/postgres.mjs';

export default async function globalSetup() {
  const server = await startPostgres({
    database: 'seed',
    seed: new URL('../../deploy/dev/postgres-seed.sql', import.meta.url),
    maxConnections: 300,
  });
  // Nobody may connect to the template: PostgreSQL copies only a database that nobody uses.
  await runSql(server.dsnOf('postgres'), 'alter database seed with is_template true allow_connections false');
  const { host, port, user, password, home } = server;
  const file = path.join(home, 'connection.json');
  fs.writeFileSync(file, JSON.stringify({ host, port, user, password }), { mode: 0o600 });
  process.env['TEST_POSTGRES_CONNECTION_FILE'] = file;
  Object.assign(globalThis, { testPostgres: server });
}
