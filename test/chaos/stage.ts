import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import pg from 'pg';
import { startSaldoStub, type SaldoStub } from '../../deploy/dev/saldo-api-stub.mjs';
import { startPostgres, type RunningPostgres } from '../../scripts/postgres.mjs';
import { makeCertificate, type Certificate } from '../support/certificates.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { until } from '../support/until.js';
import { AUDIT_KEY } from '../support/world.js';
import { type Tool } from './calls.js';

export type SourceName = 'postgres' | 'saldo_api';
export type Environment = Readonly<Record<string, string>>;

/** Seconds and counts that the whole suite lives with; the law is written in them. */
export const LIMITS = { acquire: 0.5, operation: 1, grace: 0.3, reset: 1, concurrency: 3 } as const;

const TOOLS: Readonly<Record<SourceName, Tool>> = { postgres: 'consultar_cliente', saldo_api: 'consultar_saldo' };
export const OTHER: Readonly<Record<SourceName, SourceName>> = { postgres: 'saldo_api', saldo_api: 'postgres' };

/**
 * One source behind its fault proxy, and what a fault needs of it; the other source is reached directly. Both speak plain
 * text and TLS, and are reached by address or by name.
 */
export interface Source {
  readonly name: SourceName;
  readonly tool: Tool;
  readonly proxy: FaultProxy;
  /** Environment that enables it, through the proxy. */
  through(how?: { readonly host?: string; readonly port?: number; readonly tls?: boolean }): Environment;
  /** Environment that enables it, past the proxy. */
  direct(host?: string): Environment;
  /** Makes every operation wait in the source. Resolves to what lets them go on. */
  hold(): Promise<() => Promise<void>>;
  /** Resolves when an operation waits in the source. */
  held(): Promise<void>;
}

export interface Postgres extends Source {
  readonly server: RunningPostgres;
  query<Row extends pg.QueryResultRow>(sql: string, parameters?: readonly unknown[]): Promise<Row[]>;
}

export interface SaldoApi extends Source {
  readonly stub: SaldoStub;
}

/** Both sources, for a whole file of cases. */
export class Stage {
  private constructor(
    readonly postgres: Postgres,
    readonly saldo_api: SaldoApi,
    /** Signed by an authority that nobody trusts, for the right name. */
    readonly stranger: Certificate,
    private readonly ending: () => Promise<void>,
  ) {}

  static async set(): Promise<Stage> {
    const authority = makeCertificate({ name: 'autoridad de prueba' });
    const hosts = ['localhost', '127.0.0.1'];
    const identity = makeCertificate({ name: 'fuente', hosts, issuer: authority });
    const folder = mkdtempSync(join(tmpdir(), 'mcp-corp-chaos-'));
    const caFile = join(folder, 'ca.pem');
    writeFileSync(caFile, authority.cert);
    const postgres = await postgresBehindProxy(identity, caFile);
    const saldo = await saldoBehindProxy(identity, caFile);
    const stranger = makeCertificate({ name: 'fuente', hosts, issuer: makeCertificate({ name: 'desconocida' }) });
    return new Stage(postgres.source, saldo.source, stranger, async () => {
      await postgres.close();
      await saldo.close();
      rmSync(folder, { recursive: true });
    });
  }

  async strike(): Promise<void> {
    await this.ending();
  }
}

/** What both sources have, however they are reached; the times are the product's own. */
function enabled(section: string): Environment {
  return {
    [`${section}__ENABLED`]: 'true',
    MCP_CORP_AUDIT_HMAC_SECRET: AUDIT_KEY,
    MCP_CORP_LOG_LEVEL: 'DEBUG',
  };
}

/** The short times of the source that is made to fail. */
function limits(section: string): Environment {
  return {
    [`${section}__MAX_CONCURRENCY`]: String(LIMITS.concurrency),
    [`${section}__ACQUIRE_TIMEOUT_SECONDS`]: String(LIMITS.acquire),
    [`${section}__OPERATION_TIMEOUT_SECONDS`]: String(LIMITS.operation),
    [`${section}__CANCEL_GRACE_SECONDS`]: String(LIMITS.grace),
    [`${section}__CIRCUIT_RESET_TIMEOUT_SECONDS`]: String(LIMITS.reset),
    [`${section}__CIRCUIT_FAILURE_THRESHOLD`]: '3',
  };
}

/** Statements of the server under test that wait for the lock of `hold`. */
export const WAITING = `select from pg_stat_activity where wait_event_type = 'Lock' and query ilike '%from "clientes"%'`;

async function postgresBehindProxy(identity: Certificate, caFile: string) {
  const server = await startPostgres({
    seed: new URL('../../deploy/dev/postgres-seed.sql', import.meta.url),
    files: { 'server.crt': identity.cert, 'server.key': identity.key },
    flags: ['-c', 'ssl=on'],
  });
  const proxy = await FaultProxy.start({ port: server.port });
  const query = <Row extends pg.QueryResultRow>(sql: string, parameters: readonly unknown[] = []) =>
    withClient(server.dsn, async (client) => (await client.query<Row>(sql, [...parameters])).rows);
  const dsn = (host: string, port: number, parameters: string): string =>
    `postgresql://${server.user}:${server.password}@${host}:${port}/mcp_corp?${parameters}`;
  const env = (url: string): Environment => ({
    ...enabled('MCP_CORP_POSTGRES'),
    MCP_CORP_POSTGRES__DSN: url,
  });
  let locker: pg.Client | undefined;
  const source: Postgres = {
    name: 'postgres',
    tool: TOOLS.postgres,
    proxy,
    server,
    query,
    through: ({ host = '127.0.0.1', port = proxy.port, tls = false } = {}) => ({
      ...env(
        dsn(host, port, tls ? `sslmode=verify-full&sslrootcert=${encodeURIComponent(caFile)}` : 'sslmode=disable'),
      ),
      ...limits('MCP_CORP_POSTGRES'),
      MCP_CORP_POSTGRES__POOL_OPEN_TIMEOUT_SECONDS: '1',
    }),
    direct: (host = '127.0.0.1') => env(dsn(host, server.port, 'sslmode=disable')),
    async hold() {
      const client = new pg.Client({ connectionString: server.dsn });
      client.on('error', () => undefined); // the fault may be that the server dies
      await client.connect();
      await client.query('begin');
      await client.query('lock table clientes in access exclusive mode');
      locker = client;
      return () => client.end().catch(() => undefined);
    },
    async held() {
      // Over a connection that is there: under load a new one takes longer than the statements wait.
      await until(async () => {
        await locker?.query('select pg_stat_clear_snapshot()');
        return ((await locker?.query(WAITING))?.rows.length ?? 0) > 0;
      });
    },
  };
  const close = async () => {
    await proxy.close();
    await server.stop();
  };
  return { source, close };
}

async function saldoBehindProxy(identity: Certificate, caFile: string) {
  const stub = await startSaldoStub();
  // TLS in front of it, by the first byte of a connection: 0x16 begins a handshake.
  const secured = createTlsServer(identity, (socket) => splice(socket, connect(stub.port, '127.0.0.1')));
  secured.on('tlsClientError', () => undefined);
  await listen(secured);
  const front = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', (first) => {
      socket.pause();
      socket.unshift(first);
      splice(socket, connect(portOf(first[0] === 0x16 ? secured : undefined, stub.port), '127.0.0.1'));
    });
  });
  await listen(front);
  const proxy = await FaultProxy.start({ port: portOf(front, 0) });
  const env = (url: string, tls: boolean): Environment => ({
    ...enabled('MCP_CORP_SALDO_API'),
    MCP_CORP_SALDO_API__BASE_URL: url,
    ...(tls ? { MCP_CORP_SALDO_API__TLS_CA_FILE: caFile } : {}),
  });
  let before = 0;
  const source: SaldoApi = {
    name: 'saldo_api',
    tool: TOOLS.saldo_api,
    proxy,
    stub,
    through: ({ host = '127.0.0.1', port = proxy.port, tls = false } = {}) => ({
      ...env(`${tls ? 'https' : 'http'}://${host}:${port}`, tls),
      ...limits('MCP_CORP_SALDO_API'),
    }),
    direct: (host = '127.0.0.1') => env(`http://${host}:${stub.port}`, false),
    async hold() {
      before = asked(stub);
      stub.setFault({ kind: 'silence' });
      return async () => stub.setFault(undefined);
    },
    held: () => until(() => asked(stub) > before),
  };
  const close = async () => {
    await proxy.close();
    front.close();
    secured.close();
    await stub.close();
  };
  return { source, close };
}

const asked = (stub: SaldoStub): number => stub.requests.filter(({ path }) => path.startsWith('/saldos/')).length;

/** Joins two connections: what one says the other hears, and one's end is the other's. */
function splice(one: Socket, other: Socket): void {
  one.on('error', () => other.destroy());
  other.on('error', () => one.destroy());
  one.on('close', () => other.destroy());
  other.on('close', () => one.destroy());
  one.pipe(other).pipe(one);
}

async function listen(server: Server): Promise<void> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
}

function portOf(server: Server | undefined, otherwise: number): number {
  const address = server?.address();
  return typeof address === 'object' && address !== null ? address.port : otherwise;
}

export async function withClient<T>(dsn: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: dsn });
  client.on('error', () => undefined); // the query or the connect reports the same error
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
