// The balance API of the demo and of the tests (spec §9.3), without dependencies. As a program:
//   node deploy/dev/saldo-api-stub.mjs [port] [host]      (or PORT and HOST; 127.0.0.1:8080 by default)
// Besides the reference's five answers it can be told to misbehave, by the identifier asked for or, as a module, by `setFault`.
import { realpathSync } from 'node:fs';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';

/**
 * - `latency`: the right answer, `ms` milliseconds later.
 * - `too_many_requests`: 429; `retryAfter` is the header's text, absent when undefined.
 * - `status`: that status, with `retryAfter` as above.
 * - `bad_json`: a body that ends too early. `wrong_cedula`: somebody else's balance.
 * - `drop`: the connection is closed without a byte. `silence`: no byte ever comes.
 * - `redirect`: 302 to `location`. `large_body`: a well-formed answer of `bytes` bytes.
 * - `endless_body`: a body that never ends, as fast as it is read. `dripping_body`: one that comes byte by byte.
 * @typedef {{ kind: 'latency', ms: number }
 *   | { kind: 'too_many_requests', retryAfter?: string }
 *   | { kind: 'status', status: number, retryAfter?: string }
 *   | { kind: 'redirect', location: string }
 *   | { kind: 'large_body', bytes: number }
 *   | { kind: 'bad_json' | 'wrong_cedula' | 'drop' | 'silence' | 'endless_body' | 'dripping_body' }} Fault
 *
 * @typedef {object} SaldoStub
 * @property {string} url Base URL, without a slash at the end.
 * @property {number} port
 * @property {(fault: Fault | undefined) => void} setFault What every `/saldos/…` answers from now on; undefined: the truth.
 * @property {readonly { method: string, path: string }[]} requests The last 1,000 requests, health checks included.
 * @property {() => Promise<void>} close Ends every connection; idempotent.
 */

/** Texts, not objects: the reference's answers are kept to the byte. */
const SALDOS = new Map([
  ['V16760320', '{"cedula":"V16760320","saldo":1500000.5,"moneda":"COP"}'],
  ['V16760321', '{"cedula":"V16760321","saldo":320000.0,"moneda":"COP"}'],
]);
const SIMULATED_ERROR = 'V90000001';

/** @type {ReadonlyMap<string, Fault>} */
const FAULTS_BY_ID = new Map([
  ['V90000002', { kind: 'latency', ms: 3000 }],
  ['V90000003', { kind: 'too_many_requests', retryAfter: '2' }],
  ['V90000004', { kind: 'bad_json' }],
  ['V90000005', { kind: 'wrong_cedula' }],
  ['V90000006', { kind: 'drop' }],
  ['V90000007', { kind: 'endless_body' }],
  ['V90000008', { kind: 'dripping_body' }],
  ['V90000009', { kind: 'silence' }],
]);

const REMEMBERED_REQUESTS = 1000;
const FILLER = Buffer.alloc(65_536, ' ');

/** @typedef {import('node:http').ServerResponse} Response */

/** @param {Response} response @param {number} status @param {string} body @param {Record<string, string>} [headers] */
function json(response, status, body, headers = {}) {
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    ...headers,
  });
  response.end(body);
}

/** @param {Response} response @param {string} id */
function answer(response, id) {
  const saldo = SALDOS.get(id);
  if (saldo !== undefined) json(response, 200, saldo);
  else if (id === SIMULATED_ERROR) json(response, 500, '{"error":"error_simulado"}');
  else json(response, 404, '{"error":"cedula_no_encontrada"}');
}

/** @param {Response} response */
function pourForEver(response) {
  response.writeHead(200, { 'Content-Type': 'application/json' });
  const pour = () => {
    while (!response.destroyed && response.write(FILLER));
  };
  response.on('drain', pour);
  pour();
}

/** @param {Response} response @param {number} bytes */
function pourLarge(response, bytes) {
  const [head, tail] = ['{"cedula":"V16760320","saldo":1500000.5,"moneda":"COP","relleno":"', '"}'];
  let filler = Math.max(0, bytes - head.length - tail.length);
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': head.length + filler + tail.length });
  response.write(head);
  const pour = () => {
    while (!response.destroyed && filler > 0) {
      const part = FILLER.subarray(0, filler);
      filler -= part.length;
      if (filler === 0) response.write(part, () => response.end(tail));
      else if (!response.write(part)) return;
    }
  };
  response.on('drain', pour);
  if (filler === 0) response.end(tail);
  else pour();
}

/** @param {Response} response */
function drip(response) {
  response.writeHead(200, { 'Content-Type': 'application/json' });
  const timer = setInterval(() => response.write(' '), 20);
  response.on('close', () => clearInterval(timer));
}

/** @param {Response} response @param {string} id @param {Fault} fault */
function misbehave(response, id, fault) {
  switch (fault.kind) {
    case 'latency': {
      const timer = setTimeout(() => answer(response, id), fault.ms);
      response.on('close', () => clearTimeout(timer));
      return;
    }
    case 'too_many_requests':
    case 'status': {
      const status = fault.kind === 'status' ? fault.status : 429;
      json(
        response,
        status,
        '{"error":"simulado"}',
        fault.retryAfter === undefined ? {} : { 'Retry-After': fault.retryAfter },
      );
      return;
    }
    case 'bad_json':
      return json(response, 200, '{"cedula":"V16760320","saldo":15000');
    case 'wrong_cedula':
      return json(response, 200, '{"cedula":"V99999999","saldo":1.0,"moneda":"COP"}');
    case 'drop':
      response.destroy();
      return;
    case 'silence':
      return;
    case 'redirect':
      return json(response, 302, '{}', { Location: fault.location });
    case 'large_body':
      return pourLarge(response, fault.bytes);
    case 'endless_body':
      return pourForEver(response);
    case 'dripping_body':
      return drip(response);
  }
}

/**
 * Starts the stub; loopback and any free port unless told otherwise.
 * @param {{ port?: number, host?: string }} [where]
 * @returns {Promise<SaldoStub>}
 */
export async function startSaldoStub({ port = 0, host = '127.0.0.1' } = {}) {
  /** @type {Fault | undefined} */
  let everybodysFault;
  /** @type {{ method: string, path: string }[]} */
  const requests = [];

  const server = createServer((request, response) => {
    const { method = '', url: path = '' } = request;
    requests.push({ method, path });
    if (requests.length > REMEMBERED_REQUESTS) requests.shift();
    request.resume();
    if (method !== 'GET') {
      response.writeHead(501, { 'Content-Type': 'text/html;charset=utf-8', Connection: 'close' });
      response.end(
        '<!DOCTYPE HTML><html><head><title>501</title></head><body><h1>Unsupported method</h1></body></html>\n',
      );
      return;
    }
    if (path === '/health') return json(response, 200, '{"status": "ok"}');
    const id = /^\/saldos\/([A-Z0-9]+)$/.exec(path)?.[1];
    if (id === undefined) return json(response, 404, '{"error":"ruta_no_encontrada"}');
    const fault = everybodysFault ?? FAULTS_BY_ID.get(id);
    if (fault) misbehave(response, id, fault);
    else answer(response, id);
  });

  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve(undefined));
  });
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  const authority = address.family === 'IPv6' ? `[${address.address}]` : address.address;

  return {
    url: `http://${authority}:${address.port}`,
    port: address.port,
    requests,
    setFault: (fault) => {
      everybodysFault = fault;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function main() {
  const port = Number(process.argv[2] ?? process.env.PORT ?? 8080);
  const host = process.argv[3] ?? process.env.HOST ?? '127.0.0.1';
  const stub = await startSaldoStub({ port, host });
  console.log(JSON.stringify({ message: 'saldo_api_stub_listening', url: stub.url }));
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void stub.close());
}

// The real path, because a checkout may be reached through a symbolic link.
if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) await main();
