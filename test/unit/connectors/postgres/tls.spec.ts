import { createServer } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type RunningPostgres, startPostgres } from '../../../../scripts/postgres.mjs';
import { parseDsn } from '../../../../src/connectors/postgres/dsn.js';
import { type PostgresConnector } from '../../../../src/connectors/postgres/postgres-connector.js';
import { tlsPolicy } from '../../../../src/connectors/postgres/tls-policy.js';
import { makeCertificate } from '../../../support/certificates.js';
import { queryOnce } from '../../../support/database.js';
import { FaultProxy } from '../../../support/fault-proxy.js';
import { connectorTo, ping, read, rejection, Signals, statement, until } from './rig.js';

const authority = makeCertificate({ name: 'Autoridad de prueba' });
const files = new Map([
  ['/ca.pem', authority.cert],
  ['/other.pem', makeCertificate({ name: 'Otra autoridad' }).cert],
  ['/broken.pem', '-----BEGIN CERTIFICATE-----\nno\n-----END CERTIFICATE-----'],
]);
const fileText = (path: string): string => {
  const text = files.get(path);
  if (text === undefined) throw new Error(`ENOENT ${path}`);
  return text;
};

let secured: RunningPostgres;
let plain: RunningPostgres;
const warnings: Error[] = [];
const onWarning = (warning: Error) => void warnings.push(warning);

beforeAll(async () => {
  process.on('warning', onWarning);
  const server = makeCertificate({ name: 'db', hosts: ['localhost'], issuer: authority });
  const client = makeCertificate({ name: 'mcp_corp', issuer: authority });
  files.set('/client.pem', client.cert);
  files.set('/client.key', client.key);
  const flags = ['ssl=on', 'ssl_cert_file=server.crt', 'ssl_key_file=server.key', 'ssl_ca_file=ca.crt'];
  [secured, plain] = await Promise.all([
    startPostgres({
      flags: flags.flatMap((flag) => ['-c', flag]),
      files: {
        'server.crt': server.cert,
        'server.key': server.key,
        'ca.crt': authority.cert,
        'pg_hba.conf':
          'hostssl identified all all cert\nhostssl secret all all scram-sha-256\nhostnossl secret all all reject\nhost all all all scram-sha-256\n',
      },
    }),
    startPostgres(),
  ]);
  await queryOnce(secured.dsn, 'create database identified');
});

afterAll(async () => {
  process.off('warning', onWarning);
  await Promise.all([secured.stop(), plain.stop()]);
});

interface Target {
  readonly server: RunningPostgres;
  readonly host?: string;
  readonly port?: number;
  readonly database?: string;
}

function connectorWith(
  query: string,
  { server, host = 'localhost', port = server.port, database = 'mcp_corp' }: Target,
): PostgresConnector {
  const text = `postgresql://${server.user}:${server.password}@${host}:${port}/${database}?${query}`;
  return connectorTo(text, { tls: tlsPolicy(parseDsn(text), fileText) });
}

/** `tls`, `plain`, or why there is no connection. */
async function outcome(connector: PostgresConnector): Promise<string> {
  try {
    const query = statement<{ ssl: boolean }>`select ssl from pg_stat_ssl where pid = pg_backend_pid()`;
    return (await read(connector, query)).rows[0]?.ssl ? 'tls' : 'plain';
  } catch (error) {
    expect(connector.classify(error)).toEqual({ kind: 'infrastructure', connecting: true });
    const cause = (error as Error).cause as Error & { code?: string };
    return cause.code ?? cause.message;
  } finally {
    await connector.close();
  }
}

describe('sslmode means what libpq says', () => {
  it.each([
    ['sslmode=disable', 'plain'],
    ['sslmode=allow', 'tls'],
    ['sslmode=prefer', 'tls'],
    ['', 'tls'],
    ['sslmode=require', 'tls'],
    ['sslmode=require&sslrootcert=/ca.pem', 'tls'],
    ['sslmode=require&sslrootcert=/other.pem', 'SELF_SIGNED_CERT_IN_CHAIN'],
    ['sslmode=verify-ca&sslrootcert=/ca.pem', 'tls'],
    ['sslmode=verify-ca&sslrootcert=/other.pem', 'SELF_SIGNED_CERT_IN_CHAIN'],
    ['sslmode=verify-full&sslrootcert=/ca.pem', 'tls'],
    ['sslmode=verify-full&sslrootcert=/other.pem', 'SELF_SIGNED_CERT_IN_CHAIN'],
    ['sslmode=verify-full', 'SELF_SIGNED_CERT_IN_CHAIN'],
    ['sslrootcert=system', 'SELF_SIGNED_CERT_IN_CHAIN'],
  ])('%s to a server with TLS: %s', async (query, expected) => {
    expect(await outcome(connectorWith(query, { server: secured }))).toBe(expected);
  });

  it.each([
    ['sslmode=verify-ca&sslrootcert=/ca.pem', 'tls'],
    ['sslmode=verify-full&sslrootcert=/ca.pem', 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ])('%s where the certificate is for another name: %s', async (query, expected) => {
    expect(await outcome(connectorWith(query, { server: secured, host: '127.0.0.1' }))).toBe(expected);
  });

  it.each([
    ['sslmode=disable', 'plain'],
    ['sslmode=prefer', 'plain'],
    ['', 'plain'],
    ['sslmode=require', 'the server offers no TLS'],
    ['sslmode=verify-full', 'the server offers no TLS'],
  ])('%s to a server without TLS: %s', async (query, expected) => {
    expect(await outcome(connectorWith(query, { server: plain }))).toBe(expected);
  });

  it('a client certificate is shown to a server that asks for one', async () => {
    const target = { server: secured, database: 'identified' };
    const query = 'sslmode=verify-full&sslrootcert=/ca.pem';
    expect(await outcome(connectorWith(`${query}&sslcert=/client.pem&sslkey=/client.key`, target))).toBe('tls');
    expect(await outcome(connectorWith(query, target))).toBe('28000');
  });

  it.each([
    ['sslmode=verify-ca&sslrootcert=/missing.pem', 'has an sslrootcert that cannot be read'],
    ['sslmode=verify-full&sslcert=/client.pem&sslkey=/missing.key', 'has an sslkey that cannot be read'],
    ['sslmode=verify-ca&sslrootcert=/broken.pem', 'has a certificate or key that is not valid PEM'],
  ])('%s is a mistake that shows at once, without its path', (query, problem) => {
    expect(() => connectorWith(query, { server: secured })).toThrow(problem);
  });

  it('says nothing on stderr about modes that a library does not like', () => {
    expect(warnings).toEqual([]);
  });
});

describe('over TLS', () => {
  it('a cancel is sent over TLS as well, and works', async () => {
    const first = new Map<number, string>();
    const proxy = await FaultProxy.start({
      port: secured.port,
      request: (chunk, connection) => {
        if (!first.has(connection)) first.set(connection, chunk.toString('hex'));
        return chunk;
      },
    });
    const query = 'sslmode=verify-full&sslrootcert=/ca.pem';
    const connector = connectorWith(query, { server: secured, port: proxy.port });
    const signals = new Signals();
    const run = rejection(read(connector, statement`select pg_sleep(30)`, signals));
    await until(
      () =>
        queryOnce(
          secured.dsn,
          "select 1 from pg_stat_activity where query like '%pg_sleep(30)%' and state = 'active' and pid <> pg_backend_pid()",
        ),
      (rows) => rows.length === 1,
    );
    signals.stop();
    await run;
    await ping(connector);
    expect([...first.values()]).toEqual(['0000000804d2162f', '0000000804d2162f']);
    expect(connector.stats()).toMatchObject({ connections_num: 1, pool_size: 1 });
    await connector.close();
    await proxy.close();
  });

  it('a socket that is killed in the middle of the handshake closes', async () => {
    const server = createServer((socket) => socket.once('data', () => socket.write('S')).on('error', () => undefined));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const connector = connectorWith('sslmode=require', { server: plain, port });
    const signals = new Signals();
    const run = rejection(read(connector, statement`select 1`, signals));
    const [socket] = (await once(server, 'connection')) as [NodeJS.EventEmitter];
    await once(socket, 'data');
    signals.destroy();
    expect(connector.classify(await run)).toEqual({ kind: 'infrastructure', connecting: true });
    await connector.close();
    server.close();
  });

  it.each(['Sx', 'N\0', 'E', 'HTTP/1.1 400'])(
    'an answer such as %p before the handshake is refused',
    async (answer) => {
      const server = createServer((socket) =>
        socket.once('data', () => socket.write(answer)).on('error', () => undefined),
      );
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as { port: number };
      for (const mode of ['prefer', 'require']) {
        expect(await outcome(connectorWith(`sslmode=${mode}`, { server: plain, port }))).toMatch(/TLS/);
      }
      server.close();
    },
  );
});
