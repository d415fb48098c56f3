// @ts-check
/**
 * The whole server on one machine that has nothing but Node: a real PostgreSQL from npm, the balance stub, and the
 * product itself in this process, so that nothing can outlive it. Ctrl-C stops all of it. Everything on stdout is JSON
 * lines but the banner; exit codes are the server's (0 stopped in order, 3 could not start), and 2 for wrong options.
 *
 *   npm run demo -- [--port N] [--no-postgres] [--no-saldo] [--policy | --upstreams]
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startPostgres } from './postgres.mjs';
import { startSaldoStub } from '../deploy/dev/saldo-api-stub.mjs';
import { startEverything } from './everything-upstream.mjs';

/**
 * A built module, with the types of its source: a literal path would draw `dist` into the check of types.
 *
 * @param {string} path
 */
const built = (path) => /** @type {Promise<unknown>} */ (import(new URL(`../dist/${path}`, import.meta.url).href));

const { armStopSignal } = /** @type {typeof import('../src/stop-signal.js')} */ (await built('stop-signal.js'));
const stop = armStopSignal(process);

const WRONG_OPTIONS = 2;
const CANNOT_START = 3;

/** Public on purpose: the demo's people are invented, and its pseudonyms are those that the README shows. */
const AUDIT_KEY = 'clave-secreta-de-prueba-a';

const USAGE = `npm run demo -- [--port N] [--no-postgres] [--no-saldo] [--policy | --upstreams]

  --port N        port of the server on 127.0.0.1 (default 8000)
  --no-postgres   without the database source
  --no-saldo      without the balance source
  --policy        governed by examples/policy/policy.yaml: three keys to try
  --upstreams     governed by examples/policy/with-upstreams.yaml, with two MCP servers from npm behind it
`;

/** @typedef {{ port: number, postgres: boolean, saldo: boolean, policy: boolean, upstreams: boolean }} Demo */

/** @returns {Demo} */
function options() {
  try {
    const { values } = parseArgs({
      options: {
        port: { type: 'string', default: '8000' },
        'no-postgres': { type: 'boolean', default: false },
        'no-saldo': { type: 'boolean', default: false },
        policy: { type: 'boolean', default: false },
        upstreams: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) {
      process.stdout.write(USAGE);
      process.exit(0);
    }
    const port = /^\d{1,5}$/.test(values.port) ? Number(values.port) : 0;
    if (port < 1 || port > 65_535) throw new Error('--port takes a number from 1 to 65535');
    const { upstreams, policy } = values;
    return {
      port,
      postgres: !values['no-postgres'],
      saldo: !values['no-saldo'],
      policy: policy || upstreams,
      upstreams,
    };
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n\n${USAGE}`);
    process.exit(WRONG_OPTIONS);
  }
}

/** @param {unknown} error */
const messageOf = (error) => (error instanceof Error ? error.message : String(error));

const COMPLETE = 'resumen_cliente    {"identificador": "V-16.760.320"}   both sources in one answer';
const PARTIAL = 'resumen_cliente    {"identificador": "V16760322"}      a partial answer that says what is missing';
const CUSTOMER = 'consultar_cliente  {"identificador": "16.760.321"}     a customer, by any spelling';
const NOBODY = 'consultar_cliente  {"identificador": "J-16760320-2"}   a RIF that nobody has: a clear refusal';
const TYPO = 'consultar_cliente  {"identificador": "J-16760320-3"}   a wrong check digit: refused, no source is asked';
const BALANCE = 'consultar_saldo    {"identificador": "V-16.760.320"}   a balance';
const NO_BALANCE = 'consultar_saldo    {"identificador": "V16760322"}      no balance, which is not a balance of zero';
const OUTAGE = 'consultar_saldo    {"identificador": "V90000001"}      a source that fails: a clear refusal';

/** @param {Demo} demo @returns {readonly string[]} three lines: a tool, its arguments, what they show; or a URL */
function tries({ port, postgres, saldo }) {
  if (postgres && saldo) return [COMPLETE, PARTIAL, OUTAGE];
  if (postgres) return [CUSTOMER, NOBODY, TYPO];
  if (saldo) return [BALANCE, NO_BALANCE, OUTAGE];
  return ['health', 'ready', 'diagnostics'].map((route) => `http://127.0.0.1:${port}/${route}`);
}

/**
 * Public like the audit's key. Each is the credential of one caller of examples/policy/policy.yaml.
 *
 * @type {readonly (readonly [variable: string, key: string, sees: string])[]}
 */
const KEYS = [
  ['DEMO_KEY_ATENCION', 'demo-atencion', 'the call centre: customers without e-mail, summaries without balance'],
  ['DEMO_KEY_CAJA', 'demo-caja', 'the cash desk: everything, of three different customers an hour'],
  ['DEMO_KEY_TITULAR', 'demo-titular', "a customer: the own data (V-16.760.320) and nobody else's"],
];

/** Under the policy with upstreams each key sees something else. */
const UPSTREAM_SEES = [
  'customers, and the arithmetic of a server that runs as a child process (proceso__get-sum)',
  'that arithmetic, and the data of a server over HTTP (remoto__get-structured-content)',
  "a customer: the own data (V-16.760.320) and nobody else's",
];

/** @param {Demo} demo */
const policyOf = ({ upstreams }) => `examples/policy/${upstreams ? 'with-upstreams' : 'policy'}.yaml`;

/** What the policy refers to. The database's account logs in as the source does. @param {string} dsn */
const governed = (dsn) => ({
  ...Object.fromEntries(KEYS.map(([variable, key]) => [variable, key])),
  DEMO_CLIENTES_DSN: dsn,
  DEMO_SALDOS_TOKEN: 'demo-saldos',
  DEMO_ROBOT: 'demo-robot',
});

/** @param {Demo} demo */
const keyLines = (demo) => `
  Governed by ${policyOf(demo)} (docs/governance.md). Send one of three keys, as Authorization: Bearer <key>:

${KEYS.map(([, key, sees], index) => `    ${key.padEnd(14)} ${demo.upstreams ? UPSTREAM_SEES[index] : sees}`).join('\n')}
`;

/** @param {Demo} demo */
function banner(demo) {
  const endpoint = `http://127.0.0.1:${demo.port}/mcp`;
  const configuration = JSON.stringify({ mcpServers: { 'mcp-corp': { type: 'http', url: endpoint } } }, null, 2);
  return `
  mcp-corp is ready.

  Endpoint      ${endpoint}
  Diagnostics   http://127.0.0.1:${demo.port}/diagnostics

  Client configuration, ready to paste:

${configuration.replace(/^/gm, '    ')}
${demo.policy ? keyLines(demo) : ''}
  Three things to try:

${tries(demo)
  .map((line, index) => `    ${index + 1}. ${line}`)
  .join('\n')}

  Ctrl-C stops everything and leaves nothing behind.

`;
}

/** @param {Demo} demo @returns {Promise<number>} exit code */
async function play(demo) {
  /** @type {(() => Promise<void>)[]} */
  const stops = [];
  try {
    /** @type {Record<string, string>} */
    const env = {
      MCP_CORP_HOST: '127.0.0.1',
      MCP_CORP_PORT: String(demo.port),
      MCP_CORP_DRAIN_SECONDS: '0',
      MCP_CORP_AUDIT_HMAC_SECRET: AUDIT_KEY,
    };
    if (demo.postgres) {
      const server = await startPostgres({ seed: new URL('../deploy/dev/postgres-seed.sql', import.meta.url) });
      stops.push(() => server.stop());
      env.MCP_CORP_POSTGRES__ENABLED = 'true';
      env.MCP_CORP_POSTGRES__DSN = server.dsn;
    }
    if (demo.saldo) {
      const stub = await startSaldoStub();
      stops.push(() => stub.close());
      env.MCP_CORP_SALDO_API__ENABLED = 'true';
      env.MCP_CORP_SALDO_API__BASE_URL = stub.url;
    }
    if (demo.policy) {
      env.MCP_CORP_GOVERNANCE__MODE = 'policy';
      env.MCP_CORP_GOVERNANCE__POLICY = fileURLToPath(new URL(`../${policyOf(demo)}`, import.meta.url));
      // References of a policy are variables of the process, not settings of the server.
      Object.assign(process.env, governed(env.MCP_CORP_POSTGRES__DSN ?? 'postgresql://nobody@localhost/nothing'));
    }
    if (demo.upstreams) {
      const everything = await startEverything();
      stops.push(() => everything.stop());
      env.MCP_CORP_GOVERNANCE__CATALOG = 'discover';
    }
    const { run } = /** @type {typeof import('../src/run.js')} */ (await built('run.js'));
    return await run({ env, stop, onReady: () => void process.stdout.write(banner(demo)) });
  } catch (error) {
    await tell('demo_start_failed', messageOf(error));
    return CANNOT_START;
  } finally {
    await Promise.allSettled(stops.map((end) => end()));
  }
}

/** For what goes wrong before the server has a voice of its own. @param {string} event @param {string} detail */
async function tell(event, detail) {
  const { JsonLogger } = /** @type {typeof import('../src/logging/json-logger.js')} */ (
    await built('logging/json-logger.js')
  );
  const { standardSink } = /** @type {typeof import('../src/logging/standard-sink.js')} */ (
    await built('logging/standard-sink.js')
  );
  const { VERSION } = /** @type {typeof import('../src/config/version.js')} */ (await built('config/version.js'));
  const identity = { service: 'mcp-corp', version: VERSION, environment: 'local' };
  const logger = new JsonLogger({ sink: standardSink('stdout'), level: 'INFO', ...identity });
  logger.eventLog('mcp_corp.demo').error(event, { detail });
  await logger.flush(2000);
}

process.exit(await play(options()));
