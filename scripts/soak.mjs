// @ts-check
/**
 * Does the server keep what it should let go, and does it ever mix callers up (`npm run soak`, `-- --short` for CI)?
 *
 * 500 callers, each with its own customer in the database and in the balance API, call at the same time over raw sockets;
 * every answer must carry the caller's nonce and the caller's data. After the first calls, and at the end, everybody
 * pauses and the server tells what it holds. Exit 1 when a bound is broken. Loopback only; ends by itself.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { freePort } from './free-port.mjs';
import { runSql, startPostgres } from './postgres.mjs';

const { values } = parseArgs({ options: { short: { type: 'boolean', default: false } } });
/** What is compiled, pooled and grown once has been by then: RSS still climbs between 3,000 and 20,000 calls. */
const FIRST = 30_000;
/** The short form: as many again. */
const CALLS = values.short ? 60_000 : 300_000;
const CALLERS = 500;
const LIMIT_MS = 10 * 60_000;
const HEAP_GROWTH = 1.05;
const RSS_GROWTH = 1.25;
/** One call in this many is abandoned by its caller, who comes back over a new connection. */
const HANG_UP_EVERY = 101;

/** Those of `npm start`: what is soaked is what runs. */
const NODE_FLAGS = productFlags();

const path = (/** @type {string} */ relative) => fileURLToPath(new URL(relative, import.meta.url));

/** @typedef {{ cedula: string, nombre: string, saldo: number }} Customer */
/** @param {number} index @returns {Customer} */
const customer = (index) => ({ cedula: `V${20_000_000 + index}`, nombre: `Persona ${index}`, saldo: 1000 + index });
const CUSTOMERS = Array.from({ length: CALLERS }, (_, index) => customer(index));

/** What is asked, in turn. @type {readonly { tool: string, argument: (own: Customer) => string, right: (own: Customer) => string }[]} */
const QUESTIONS = [
  {
    tool: 'consultar_cliente',
    argument: ({ cedula }) => cedula,
    right: ({ cedula, nombre }) =>
      `"structuredContent":{"cedula":"${cedula}","nombre":"${nombre}","email":"${cedula}@example.com","estado":"activo"}`,
  },
  {
    tool: 'consultar_saldo',
    argument: ({ cedula }) => `${cedula.slice(0, 3)}.${cedula.slice(3, 6)}.${cedula.slice(6)}`,
    right: ({ cedula, saldo }) => `"structuredContent":{"cedula":"${cedula}","saldo":${saldo},"moneda":"COP"}`,
  },
  { tool: 'consultar_cliente', argument: () => 'V99999998', right: () => '"code":"not_found"' },
  { tool: 'consultar_saldo', argument: ({ nombre }) => nombre, right: () => '"code":"invalid_identifier"' },
];
/** Four in seven ask the database, two the API, one neither. */
const TURNS = [0, 0, 1, 0, 2, 1, 3];

/** @param {number} turn */
function questionFor(turn) {
  const question = QUESTIONS[TURNS[turn % TURNS.length] ?? 0];
  if (question === undefined) throw new Error('no question');
  return question;
}

class Tally {
  calls = 0;
  hangUps = 0;
  /** @type {string[]} */
  wrong = [];
  /** Calls in all after which everybody pauses. */
  until = 0;

  /** @param {string} text */
  fault(text) {
    if (this.wrong.length < 20) this.wrong.push(text);
  }

  /** Whether one more call may be made; counts it. */
  take() {
    if (this.calls >= this.until) return false;
    this.calls += 1;
    return true;
  }
}

const HEAD_END = Buffer.from('\r\n\r\n');

/** One caller: one connection, one call at a time. */
class Caller {
  /** @type {import('node:net').Socket | undefined} */
  #socket;
  #received = Buffer.alloc(0);
  /** @type {((text: string) => void) | undefined} */
  #answered;

  /** @param {number} port @param {number} index @param {Tally} tally */
  constructor(port, index, tally) {
    this.port = port;
    this.index = index;
    this.own = CUSTOMERS[index] ?? customer(index);
    this.tally = tally;
    this.made = index;
  }

  /** Calls until the tally has enough. */
  async run() {
    while (this.tally.take()) {
      this.made += 1;
      if (this.made % HANG_UP_EVERY === 0) await this.#hangUp();
      else await this.#call();
    }
  }

  /** One call to each source. */
  async touch() {
    for (const turn of [TURNS.indexOf(0), TURNS.indexOf(1)]) {
      this.tally.calls += 1;
      await this.#call(turn);
    }
  }

  /** @param {number} [turn] */
  async #call(turn = this.made) {
    const question = questionFor(turn);
    const nonce = `${this.index}-${randomBytes(8).toString('hex')}`;
    const text = await this.#exchange(this.#request(nonce, question));
    if (!text.startsWith('HTTP/1.1 200')) return this.tally.fault(`${question.tool}: ${text.slice(0, 300)}`);
    if (!text.includes(`"id":"${nonce}"`)) this.tally.fault(`another nonce than ${nonce}: ${text.slice(-300)}`);
    if (!text.includes(question.right(this.own)))
      this.tally.fault(`not the answer of ${this.own.cedula}: ${text.slice(-300)}`);
  }

  /** Asks, and goes away before the answer. */
  async #hangUp() {
    const socket = await this.#connected();
    this.tally.hangUps += 1;
    socket.write(this.#request('abandoned', questionFor(0)));
    await new Promise((resolve) => setTimeout(resolve, 1));
    this.#socket = undefined;
    this.#received = Buffer.alloc(0);
    socket.destroy();
    await once(socket, 'close');
  }

  /** @param {string} id @param {typeof QUESTIONS[number]} question */
  #request(id, { tool, argument }) {
    const params = { name: tool, arguments: { identificador: argument(this.own) } };
    const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params });
    const head = [
      'POST /mcp HTTP/1.1',
      `Host: 127.0.0.1:${this.port}`,
      'Content-Type: application/json',
      'Accept: application/json, text/event-stream',
      'MCP-Protocol-Version: 2025-11-25',
      `Content-Length: ${Buffer.byteLength(body)}`,
    ];
    return `${head.join('\r\n')}\r\n\r\n${body}`;
  }

  /** @returns {Promise<import('node:net').Socket>} */
  async #connected() {
    if (this.#socket !== undefined) return this.#socket;
    const socket = connect({ port: this.port, host: '127.0.0.1', noDelay: true });
    socket.on('error', () => undefined); // its end is reported by `close`
    socket.on('data', (chunk) => this.#data(chunk));
    socket.on('close', () => {
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      this.#answered?.('the connection was closed');
    });
    await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
    this.#socket = socket;
    return socket;
  }

  /** @param {string} request @returns {Promise<string>} */
  async #exchange(request) {
    const socket = await this.#connected();
    return new Promise((resolve) => {
      this.#answered = resolve;
      socket.write(request);
      if (socket.destroyed) resolve('the connection was closed');
    });
  }

  /** @param {Buffer} chunk */
  #data(chunk) {
    this.#received = Buffer.concat([this.#received, chunk]);
    const head = this.#received.indexOf(HEAD_END);
    if (head < 0) return;
    const length = /\r\ncontent-length: (\d+)\r\n/i.exec(this.#received.toString('latin1', 0, head + 2))?.[1];
    if (length === undefined || this.#received.length < head + 4 + Number(length)) return;
    const text = this.#received.toString('utf8');
    this.#received = Buffer.alloc(0);
    this.#answered?.(text);
  }

  close() {
    this.#answered = undefined;
    this.#socket?.destroy();
  }
}

/** The balance API, of these customers. @returns {Promise<import('node:http').Server>} */
async function startBalances() {
  const balances = new Map(
    CUSTOMERS.map(({ cedula, saldo }) => [`/saldos/${cedula}`, JSON.stringify({ cedula, saldo, moneda: 'COP' })]),
  );
  const server = createServer((request, response) => {
    const text = balances.get(request.url ?? '') ?? (request.url === '/health' ? '{}' : undefined);
    response.writeHead(text === undefined ? 404 : 200, { 'Content-Type': 'application/json' });
    response.end(text ?? '{}');
  });
  server.keepAliveTimeout = LIMIT_MS;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function productFlags() {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  const start = /"start": "([^"]*)"/.exec(text)?.[1] ?? '';
  return start.match(/--[a-z-]+=\S+/g) ?? [];
}

/** @param {import('node:net').Server} server */
function portOf(server) {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** The built server; what it writes is counted, not kept. */
class Soaked {
  starts = 0;
  ends = 0;
  /** Lines above INFO. @type {string[]} */
  complaints = [];
  #rest = '';

  /** @param {number} port @param {Readonly<Record<string, string>>} env */
  constructor(port, env) {
    this.port = port;
    const flags = [...NODE_FLAGS, '--expose-gc', '--import', new URL('soak-probe.mjs', import.meta.url).href];
    this.child = spawn(process.execPath, [...flags, path('../dist/main.js')], {
      cwd: path('.'),
      env: {
        PATH: process.env['PATH'],
        UV_THREADPOOL_SIZE: '16',
        MCP_CORP_HOST: '127.0.0.1',
        MCP_CORP_PORT: String(port),
        ...env,
      },
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    this.child.stdout?.setEncoding('utf8').on('data', (/** @type {string} */ text) => this.#read(text));
    /** @type {Promise<number | null>} */
    this.exited = new Promise((resolve) => this.child.once('close', resolve));
  }

  async ready() {
    for (;;) {
      const status = await fetch(`http://127.0.0.1:${this.port}/ready`).then(
        (response) => response.status,
        () => 0,
      );
      if (status === 200) return;
      if (this.child.exitCode !== null) throw new Error('the server ended at its start');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** @returns {Promise<import('./soak-probe.mjs').Holdings>} */
  async holdings() {
    /** @type {Promise<import('./soak-probe.mjs').Holdings>} */
    const reply = new Promise((resolve) => this.child.once('message', (held) => resolve(/** @type {never} */ (held))));
    this.child.send('holdings');
    const ended = this.exited.then(() => Promise.reject(new Error('the server ended')));
    ended.catch(() => undefined);
    return Promise.race([reply, ended]);
  }

  /** @param {string} text */
  #read(text) {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line.includes('"message":"tool_invocation_started"')) this.starts += 1;
      else if (line.includes('"message":"tool_invocation_completed"')) this.ends += 1;
      else if (!/"level":"(?:INFO|DEBUG)"/.test(line) && this.complaints.length < 20) this.complaints.push(line);
    }
  }
}

const postgres = await startPostgres({ seed: new URL('../deploy/dev/postgres-seed.sql', import.meta.url) });
const balances = await startBalances();
const rows = CUSTOMERS.map(({ cedula, nombre }) => `('${cedula}', '${nombre}', '${cedula}@example.com', 'activo')`);
await runSql(
  postgres.dsn,
  `insert into clientes (cedula, nombre, email, estado) values ${rows.join(',')}; analyze clientes`,
);
const patient = (/** @type {string} */ section) => ({
  [`MCP_CORP_${section}__ENABLED`]: 'true',
  [`MCP_CORP_${section}__ACQUIRE_TIMEOUT_SECONDS`]: '60',
  [`MCP_CORP_${section}__OPERATION_TIMEOUT_SECONDS`]: '60',
  [`MCP_CORP_${section}__MAX_QUEUE`]: '1000',
});
const soaked = new Soaked(await freePort(), {
  ...patient('POSTGRES'),
  ...patient('SALDO_API'),
  MCP_CORP_POSTGRES__DSN: postgres.dsn,
  MCP_CORP_SALDO_API__BASE_URL: `http://127.0.0.1:${portOf(balances)}`,
  MCP_CORP_HTTP__MAX_CALLS: '2000',
  MCP_CORP_DRAIN_SECONDS: '0',
  MCP_CORP_AUDIT_HMAC_SECRET: 'clave-de-la-prueba-de-larga-duracion',
});
const tally = new Tally();
const callers = CUSTOMERS.map((_, index) => new Caller(soaked.port, index, tally));
const timer = setTimeout(() => {
  console.error(`not done in ${LIMIT_MS / 60_000} minutes: ${tally.calls} of ${CALLS} calls`);
  soaked.child.kill('SIGKILL');
  void postgres.stop().then(() => process.exit(1));
}, LIMIT_MS);

/** Calls until there are `calls` in all, lets everything settle, and asks what the server holds. @param {number} calls */
async function soakTo(calls) {
  tally.until = calls;
  await Promise.all(callers.map((caller) => caller.run()));
  // Everybody at once: then every caller has a connection, and so has every slot of every source, at both measurements.
  await Promise.all(callers.map((caller) => caller.touch()));
  // Calls whose callers went away end a moment later; the last records are on their way.
  const settledBy = performance.now() + 10_000;
  while (soaked.starts !== soaked.ends && performance.now() < settledBy)
    await new Promise((resolve) => setTimeout(resolve, 50));
  return soaked.holdings();
}

await soaked.ready();
const begun = performance.now();
const first = await soakTo(FIRST);
const last = await soakTo(CALLS);
const seconds = (performance.now() - begun) / 1000;
for (const caller of callers) caller.close();
soaked.child.kill('SIGTERM');
const code = await soaked.exited;
clearTimeout(timer);
balances.closeAllConnections();
balances.close();
await postgres.stop();

const mebibytes = (/** @type {number} */ bytes) => `${(bytes / 1_048_576).toFixed(1)} MiB`;
const heapGrowth = last.heap / first.heap;
const rssGrowth = last.rss / first.rss;
/** @param {Record<string, number>} handles */
const sumOf = (handles) => Object.values(handles).reduce((sum, count) => sum + count, 0);
/** @type {[string, string, string, boolean][]} */
const checks = [
  [
    'calls',
    `${tally.calls} in ${seconds.toFixed(0)} s (${Math.round(tally.calls / seconds)}/s)`,
    '≤ 600 s',
    seconds * 1000 <= LIMIT_MS,
  ],
  [
    'wrong answers',
    `${tally.wrong.length}, ${CALLERS} callers, ${tally.hangUps} calls abandoned`,
    '0',
    tally.wrong.length === 0,
  ],
  [
    'heap',
    `${mebibytes(first.heap)} → ${mebibytes(last.heap)}, × ${heapGrowth.toFixed(3)}`,
    `≤ × ${HEAP_GROWTH}`,
    heapGrowth <= HEAP_GROWTH,
  ],
  [
    'RSS',
    `${mebibytes(first.rss)} → ${mebibytes(last.rss)}, × ${rssGrowth.toFixed(3)}`,
    `≤ × ${RSS_GROWTH}`,
    rssGrowth <= RSS_GROWTH,
  ],
  [
    'handles',
    `${sumOf(first.handles)} → ${sumOf(last.handles)}`,
    'no growth',
    sumOf(last.handles) <= sumOf(first.handles),
  ],
  ['listeners', `${first.listeners} → ${last.listeners}`, 'no growth', last.listeners <= first.listeners],
  ['audit', `${soaked.starts} starts, ${soaked.ends} ends`, 'equal', soaked.starts === soaked.ends],
  ['complaints in the log', String(soaked.complaints.length), '0', soaked.complaints.length === 0],
  ['exit code', String(code), '0', code === 0],
];
for (const [name, figure, bound, kept] of checks)
  console.log(`${kept ? 'kept  ' : 'BROKEN'}  ${name.padEnd(22)}${figure.padEnd(52)}${bound}`);
for (const text of [...tally.wrong, ...soaked.complaints]) console.log(`  ${text}`);
if (rssGrowth > RSS_GROWTH) console.log(JSON.stringify({ first: first.memory, last: last.memory }));
if (sumOf(last.handles) > sumOf(first.handles))
  console.log(JSON.stringify({ first: first.handles, last: last.handles }));
process.exit(checks.every(([, , , kept]) => kept) ? 0 : 1);
