import { readFileSync, readdirSync } from 'node:fs';
import { PgBouncer } from '../support/pgbouncer.js';
import { until } from '../support/until.js';
import { type Code } from './calls.js';
import { type ChaosCase } from './law.js';
import { LIMITS, type Postgres, WAITING, withClient } from './stage.js';

const DOWN: readonly Code[] = ['unavailable', 'timeout', 'circuit_open', 'saturated'];

const nothing = async (): Promise<void> => undefined;

/** What can become of PostgreSQL itself, and of PgBouncer in front of it. */
export function postgresCases(): ChaosCase[] {
  return [
    {
      name: 'PostgreSQL restarted between two calls',
      phase: 'idle',
      brief: true,
      codes: ['ok'],
      begin: async ({ postgres: { server } }) => {
        await server.halt();
        await server.resume();
      },
      end: nothing,
    },
    {
      name: 'PostgreSQL killed (SIGQUIT), and started again',
      phase: 'running',
      codes: DOWN,
      begin: ({ postgres: { server } }) => server.halt('immediate'),
      end: ({ postgres: { server } }) => server.resume(),
    },
    ...(['start', 'idle'] as const).map(wrongPassword),
    {
      name: 'every process of PostgreSQL stopped (SIGSTOP)',
      phase: 'running',
      brief: true,
      codes: DOWN,
      begin: async ({ postgres }) => signal(familyOf(postgres.server.pid()), 'SIGSTOP'),
      end: async ({ postgres }) => signal(familyOf(postgres.server.pid()), 'SIGCONT'),
    },
    {
      name: 'only the postmaster stopped (SIGSTOP): connections that are open go on',
      phase: 'idle',
      codes: ['ok', ...DOWN],
      begin: async ({ postgres }) => signal([postgres.server.pid()], 'SIGSTOP'),
      end: async ({ postgres }) => signal([postgres.server.pid()], 'SIGCONT'),
    },
    {
      name: 'queries that wait for a lock: cancelled, nothing goes on running',
      phase: 'running',
      codes: DOWN,
      sees: ['timeout'],
      begin: nothing,
      answered: ({ postgres }) => noOrphans(postgres),
      end: nothing,
    },
    ...pgbouncerCases(),
  ];
}

function wrongPassword(phase: 'start' | 'idle'): ChaosCase {
  const password = (text: string) => `alter role rotada password '${text}'`;
  return {
    name: 'wrong password',
    phase,
    codes: ['unavailable', 'circuit_open', 'saturated'],
    async prepare({ postgres }) {
      await postgres.query('drop role if exists rotada').catch(async () => {
        await postgres.query('drop owned by rotada');
        await postgres.query('drop role rotada');
      });
      await postgres.query("create role rotada login password 'la-buena'");
      await postgres.query('grant select on clientes to rotada');
      const { user, password: secret } = postgres.server;
      const through = postgres.through();
      const env = Object.entries(through).map(([name, value]) => [
        name,
        value.replace(`//${user}:${secret}@`, '//rotada:la-buena@'),
      ]);
      return { env: Object.fromEntries(env) as Record<string, string> };
    },
    async begin({ postgres }) {
      await postgres.query(password('otra'));
      await postgres.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'rotada'");
    },
    end: async ({ postgres }) => void (await postgres.query(password('la-buena'))),
  };
}

/** A process of ours and its children, as the kernel knows them. */
function familyOf(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' '),
  );
  return [pid, ...children.filter((child) => child.trim() !== '').map(Number)];
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) process.kill(pid, name);
}

/** The lock is still held: what was not cancelled would still wait for it. */
async function noOrphans(postgres: Postgres): Promise<void> {
  await until(async () => (await postgres.query(WAITING)).length === 0, 1000 * LIMITS.grace + 5000);
}

function pgbouncerCases(): ChaosCase[] {
  let bouncer: PgBouncer;
  const prepare: ChaosCase['prepare'] = async ({ postgres }) => {
    const { host, port, user, password } = postgres.server;
    // Fewer server connections than slots: statements of several callers follow each other on one.
    bouncer = await PgBouncer.start({ host, port, user, password, poolSize: 2 });
    return { env: postgres.through({ port: bouncer.port }), close: () => bouncer.close() };
  };
  const afterwards: ChaosCase['afterwards'] = ({ postgres }) => noLeakedSettings(postgres, bouncer);
  return [
    {
      name: 'PgBouncer in transaction mode: every call right, no SET leaks',
      phase: 'idle',
      codes: ['ok'],
      prepare,
      begin: nothing,
      end: nothing,
      afterwards,
    },
    {
      name: 'PgBouncer in transaction mode: queries that wait for a lock are cancelled',
      phase: 'running',
      brief: true,
      codes: DOWN,
      sees: ['timeout'],
      prepare,
      begin: nothing,
      answered: ({ postgres }) => noOrphans(postgres),
      end: nothing,
      afterwards,
    },
    {
      name: 'PgBouncer killed, and started again',
      phase: 'running',
      codes: DOWN,
      prepare,
      begin: () => bouncer.kill(),
      end: () => bouncer.resume(),
      afterwards,
    },
    {
      name: 'PostgreSQL restarted behind PgBouncer',
      phase: 'running',
      codes: ['ok', ...DOWN],
      sees: DOWN,
      prepare,
      async begin({ postgres: { server } }) {
        await server.halt('immediate');
        await server.resume();
      },
      end: nothing,
      afterwards,
    },
  ];
}

const SETTINGS = [
  ...['statement_timeout', 'client_connection_check_interval', 'datestyle', 'timezone', 'intervalstyle'],
  ...['extra_float_digits', 'default_transaction_read_only', 'transaction_read_only'],
];

/** What the next client of PgBouncer finds on its server connections is what a new connection has. */
async function noLeakedSettings({ server }: Postgres, bouncer: PgBouncer): Promise<void> {
  const ask = `select name, setting from pg_settings where name = any($1) order by name`;
  const settingsAt = (port: number) =>
    withClient(server.dsn.replace(`:${server.port}/`, `:${port}/`), async (client) => {
      const { rows } = await client.query(ask, [SETTINGS]);
      return JSON.stringify(rows);
    });
  const fresh = await settingsAt(server.port);
  // At the same time, so that both server connections are looked at.
  const seen = await Promise.all(Array.from({ length: 6 }, () => settingsAt(bouncer.port)));
  if (seen.some((settings) => settings !== fresh)) throw new Error(`leaked: ${seen.join(' ')} instead of ${fresh}`);
}
