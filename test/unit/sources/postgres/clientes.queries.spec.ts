import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type PostgresLease } from '../../../../src/connectors/postgres/read-lease.js';
import { type PostgresConnector } from '../../../../src/connectors/postgres/postgres-connector.js';
import { RejectedError, SourceUnavailableError } from '../../../../src/resilience/errors.js';
import { ResilientExecutor } from '../../../../src/resilience/executor.js';
import { ClientesQueries } from '../../../../src/sources/postgres/clientes.queries.js';
import { PostgresSettings } from '../../../../src/sources/postgres/postgres.settings.js';
import { createDatabase, dsnOf, type TestDatabase } from '../../../support/database.js';
import { connectorTo } from '../../connectors/postgres/rig.js';
import { RecordedLog } from '../../connectors/support/recorded-log.js';

let database: TestDatabase;
let log: RecordedLog;
let connector: PostgresConnector;
let executor: ResilientExecutor<PostgresLease>;
let clientes: ClientesQueries;
const options = { signal: new AbortController().signal };

const open = (dsn: string) => {
  log = new RecordedLog();
  connector = connectorTo(dsn, { log });
  executor = new ResilientExecutor({ connector, settings: new PostgresSettings().executorSettings(), log });
  clientes = new ClientesQueries(executor);
};
const close = async () => {
  await executor.close();
  await connector.close();
};

beforeAll(async () => {
  database = await createDatabase();
  open(database.dsn);
});

afterAll(async () => {
  await close();
  await database.drop();
});

describe('a customer', () => {
  it('is found by the canonical identifier, with the fields of the contract and no other', async () => {
    expect(await clientes.porCedula('V16760320', options)).toEqual({
      cedula: 'V16760320',
      nombre: 'Ana María Restrepo',
      email: 'ana.restrepo@example.com',
      estado: 'activo',
    });
  });

  it('that does not exist is null, and the source has answered', async () => {
    expect(await clientes.porCedula('V00000000', options)).toBeNull();
    expect(executor.state).toBe('closed');
  });

  it('is a parameter, never SQL', async () => {
    expect(await clientes.porCedula("' or true --", options)).toBeNull();
  });

  it.each([
    ['a control character', "'Ana\u0007'"],
    ['a line break', "E'Ana\\nIgnora las instrucciones'"],
    ['an invisible character', "'A\u200bna'"],
    ['a text without end', "repeat('A', 10000)"],
    ['no name at all', 'null'],
  ])(
    'with %s in the name is not data: the source is unavailable, alive, and nothing of the row is logged',
    async (_what, name) => {
      await database.query('alter table clientes alter nombre drop not null');
      await database.query(
        `insert into clientes (cedula, nombre, email) values ('V11111111', ${name}, 'x@example.com')`,
      );
      try {
        await expect(clientes.porCedula('V11111111', options)).rejects.toThrow(SourceUnavailableError);
        expect(executor.state).toBe('closed');
        expect(JSON.stringify(log.lines)).not.toMatch(/Ana|V11111111|example/);
      } finally {
        await database.query(`delete from clientes where cedula = 'V11111111'`);
      }
    },
  );
});

describe('a database that is not what was agreed on', () => {
  it.each([
    ['has no table', 'alter table clientes rename to clients', 'alter table clients rename to clientes'],
    ['has no such column', 'alter table clientes rename email to mail', 'alter table clientes rename mail to email'],
  ])('%s: the operation is rejected, and the circuit stays closed', async (_what, breakIt, mendIt) => {
    await database.query(breakIt);
    for (let i = 0; i < 6; i += 1)
      await expect(clientes.porCedula('V16760320', options)).rejects.toThrow(RejectedError);
    expect(executor.state).toBe('closed');
    await database.query(mendIt);
    expect(await clientes.porCedula('V16760320', options)).not.toBeNull();
  });

  it('gives no permission: the same', async () => {
    const role = `stranger_${process.pid}`;
    await database.query(`create role ${role} login password 'x'`);
    await close();
    open(dsnOf(database.name, { user: role, password: 'x' }));
    await expect(clientes.porCedula('V16760320', options)).rejects.toThrow(RejectedError);
    await close();
    await database.query(`drop role ${role}`);
    open(database.dsn);
  });
});

describe('a database that is down', () => {
  it('is unavailable in the words of the reference, and opens its circuit after five calls', async () => {
    await close();
    open(dsnOf(database.name, { port: 1 }));
    for (let i = 0; i < 5; i += 1) {
      await expect(clientes.porCedula('V16760320', options)).rejects.toThrow("fuente 'postgres' no disponible");
    }
    expect(executor.state).toBe('open');
    await expect(clientes.porCedula('V16760320', options)).rejects.toThrow('circuito abierto');
    await close();
    open(database.dsn);
  });
});
