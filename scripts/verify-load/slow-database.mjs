// @ts-check
/**
 * The customers in a real PostgreSQL that takes exactly as long for a look-up as it is told: `clientes` is a view that sleeps
 * once for each row that it gives.
 */
import pg from 'pg';
import { runSql, startPostgres } from '../postgres.mjs';

const NAME = 'mcp_corp';
const SEED = new URL('../../deploy/dev/postgres-seed.sql', import.meta.url);

const SLOW = `
  alter table clientes rename to personas;
  create table servicio (segundos double precision not null);
  insert into servicio values (0);
  create function espera() returns boolean language plpgsql volatile as
    $$ begin perform pg_sleep(segundos) from servicio; return true; end $$;
  create view clientes as
    select personas.cedula, personas.nombre, personas.email, personas.estado from personas cross join espera()`;

/** @typedef {Awaited<ReturnType<typeof startSlowDatabase>>} SlowDatabase */

export async function startSlowDatabase() {
  const server = await startPostgres({ database: NAME, seed: SEED });
  const watcher = new pg.Client({ connectionString: server.dsnOf('postgres') });
  watcher.on('error', () => undefined); // a query reports the same error
  try {
    await runSql(server.dsn, SLOW);
    await watcher.connect();
  } catch (error) {
    await server.stop();
    throw error;
  }
  return {
    /** @type {Readonly<Record<string, string>>} */
    env: { MCP_CORP_POSTGRES__ENABLED: 'true', MCP_CORP_POSTGRES__DSN: server.dsn },

    /** How long each look-up takes from now on. @param {number} milliseconds */
    async serviceTime(milliseconds) {
      await runSql(server.dsn, `update servicio set segundos = ${Number(milliseconds) / 1000}`);
    },

    /** Sessions that anybody has in the customers' database. */
    async backends() {
      /** @type {pg.QueryResult<{ n: number }>} */
      const { rows } = await watcher.query('select count(*)::int as n from pg_stat_activity where datname = $1', [
        NAME,
      ]);
      return rows[0]?.n ?? 0;
    },

    async stop() {
      await watcher.end().catch(() => undefined); // the server's stop ends it too
      await server.stop();
    },
  };
}
