import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type PostgresConnector } from '../../../../src/connectors/postgres/postgres-connector.js';
import { commented } from '../../../../src/connectors/postgres/sql-comment.js';
import { callContext } from '../../../../src/logging/call-context.js';
import { createDatabase, type TestDatabase } from '../../../support/database.js';
import { connectorTo, read, statement } from './rig.js';

const ID = '0123456789abcdef'.repeat(2);
const TRACEPARENT = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
const span = (traceparent: string) => ({ traceparent, connecting: () => () => undefined });

let database: TestDatabase;
let connector: PostgresConnector;
beforeAll(async () => {
  database = await createDatabase();
  connector = connectorTo(database.dsn, { sqlComment: true });
});
afterAll(async () => {
  await connector.close();
  await database.drop();
});

/** The statement as the server sees it while it runs. */
const own = (on: PostgresConnector, name = 'x') =>
  read(
    on,
    statement<{ query: string }>`select query, ${name}::text from pg_stat_activity where pid = pg_backend_pid()`,
  );

describe('the comment of a statement', () => {
  it('names the call and its trace at the server, and changes nothing else', async () => {
    const context = { correlationId: ID, span: span(TRACEPARENT) };
    const { rows } = await callContext.run(context, () => own(connector));
    expect(rows[0]?.query).toMatch(
      new RegExp(`pg_backend_pid\\(\\) /\\*correlation_id='${ID}',traceparent='${TRACEPARENT}'\\*/$`),
    );
    const untraced = await callContext.run({ correlationId: ID }, () => own(connector));
    expect(untraced.rows[0]?.query).toMatch(new RegExp(`/\\*correlation_id='${ID}'\\*/$`));
  });

  it('leaves no prepared statement behind, however many calls there are', async () => {
    for (let n = 0; n < 20; n += 1) {
      await callContext.run({ correlationId: n.toString(16).padStart(32, '0') }, () => own(connector));
    }
    const { rows } = await read(
      connector,
      statement<{ n: number }>`select count(*)::int as n from pg_prepared_statements`,
    );
    expect(rows).toEqual([{ n: 0 }]);
  });

  it('is not there outside of a call, nor without the switch', async () => {
    expect((await own(connector)).rows[0]?.query).not.toContain('/*');
    const plain = connectorTo(database.dsn);
    const { rows } = await callContext.run({ correlationId: ID }, () => own(plain));
    expect(rows[0]?.query).not.toContain('/*');
    await plain.close();
  });

  it.each([`${ID.slice(2)}*/`, `${ID}'`, ID.toUpperCase(), '', `${ID}\n`])(
    'is never made of anything but hexadecimal ids: %j',
    (correlationId) => {
      expect(callContext.run({ correlationId }, () => commented('select 1'))).toBe('select 1');
      const traced = { correlationId: ID, span: span(`${TRACEPARENT}${correlationId || '*/'}`) };
      expect(callContext.run(traced, () => commented('select 1'))).toBe(`select 1 /*correlation_id='${ID}'*/`);
    },
  );
});
