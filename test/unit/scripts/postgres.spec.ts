import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { runSql, startPostgres } from '../../../scripts/postgres.mjs';
import { queryOnce } from '../../support/database.js';
import { until } from '../../support/until.js';

const script = new URL('../../../scripts/postgres.mjs', import.meta.url);
const seed = new URL('../../../deploy/dev/postgres-seed.sql', import.meta.url);

interface Owned {
  readonly owner: ChildProcess;
  readonly home: string;
  readonly pid: number;
}

/** A process that starts a server and then does what `then` says. */
async function ownedServer(then: string): Promise<Owned> {
  const program = `
    const { startPostgres } = await import(${JSON.stringify(script.href)});
    const server = await startPostgres();
    process.stdout.write(JSON.stringify({ home: server.home, pid: server.pid() }) + '\\n');
    ${then}`;
  const owner = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['pipe', 'pipe', 'ignore'] });
  const [line] = (await once(owner.stdout, 'data')) as [Buffer];
  return { owner, ...(JSON.parse(line.toString()) as { home: string; pid: number }) };
}

const runs = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
};

describe('the PostgreSQL from npm', () => {
  it('is seeded with the four customers and two accounts, as often as one likes', async () => {
    const server = await startPostgres({ seed });
    await runSql(server.dsn, readFileSync(seed, 'utf8'));
    expect(await queryOnce(server.dsn, 'select cedula, nombre, email, estado from clientes order by id')).toEqual([
      { cedula: 'V16760320', nombre: 'Ana María Restrepo', email: 'ana.restrepo@example.com', estado: 'activo' },
      { cedula: 'V16760321', nombre: 'Carlos Andrés Gómez', email: 'carlos.gomez@example.com', estado: 'moroso' },
      { cedula: 'V16760322', nombre: 'Lucía Fernanda Ríos', email: 'lucia.rios@example.com', estado: 'activo' },
      { cedula: 'V90000001', nombre: 'Cliente Error Simulado', email: 'error.simulado@example.com', estado: 'activo' },
    ]);
    expect(await queryOnce(server.dsn, 'select name, balance from accounts order by id')).toEqual([
      { name: 'cuenta-demo-1', balance: '1000.00' },
      { name: 'cuenta-demo-2', balance: '2500.50' },
    ]);
    await server.stop();
    expect([existsSync(server.home), runs(server.pid())]).toEqual([false, false]);
  });

  it('keeps its data and its port over a restart, and takes the connections it is told to', async () => {
    const server = await startPostgres({ maxConnections: 17, database: 'otra' });
    await queryOnce(server.dsn, 'create table kept as select 1 as n');
    const before = server.pid();
    await server.halt();
    expect(runs(before)).toBe(false);
    await server.resume();
    expect(await queryOnce(server.dsn, 'select n, current_setting($1) as max from kept', ['max_connections'])).toEqual([
      { n: 1, max: '17' },
    ]);
    await server.stop();
    expect(existsSync(server.home)).toBe(false);
  });

  it.each([
    ['is killed', 'process.kill(process.pid, "SIGKILL")'],
    ['exits without stopping it', 'process.exit(0)'],
    ['crashes', 'throw new Error("crash")'],
    [
      'is killed while the server is stopped (SIGSTOP)',
      'process.kill(server.pid(), "SIGSTOP"); process.kill(process.pid, "SIGKILL")',
    ],
    [
      'is killed after a restart of the server',
      'await server.halt(); await server.resume(); process.kill(process.pid, "SIGKILL")',
    ],
  ])('leaves nothing behind when its owner %s', async (_how, then) => {
    const { owner, home, pid } = await ownedServer(then);
    if (owner.exitCode === null && owner.signalCode === null) await once(owner, 'exit');
    await until(() => !existsSync(home) && !runs(pid));
  });

  it('does not keep its owner from ending', async () => {
    const { owner, home } = await ownedServer('');
    const [code] = (await once(owner, 'exit')) as [number];
    expect(code).toBe(0);
    await until(() => !existsSync(home));
  });
});
