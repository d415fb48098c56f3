// @ts-check
/**
 * The six results of the reference (issue 3), shown with real processes: replicas of the built server, PostgreSQL, the
 * balance stub and a balancer, all of them on loopback. Prints one table; leaves no process.
 *
 *   npm run verify:load -- [--short] [--only NAME,…] [--balancer auto|haproxy|own] [--json]
 *
 * Exit codes: 0 all results shown, 1 at least one not, 2 wrong options, 130 or 143 ended by a signal.
 */
import { parseArgs } from 'node:util';
import { findHaproxy } from './verify-load/balancer.mjs';
import { breaker } from './verify-load/breaker.mjs';
import { capacity } from './verify-load/capacity.mjs';
import { Children } from './verify-load/children.mjs';
import { ready } from './verify-load/ready.mjs';
import { refusing } from './verify-load/refusing.mjs';
import { table } from './verify-load/results.mjs';
import { startSlowDatabase } from './verify-load/slow-database.mjs';
import { stop } from './verify-load/stop.mjs';
import { waiting } from './verify-load/waiting.mjs';

/** @typedef {import('./verify-load/results.mjs').Stage} Stage */
/** @typedef {import('./verify-load/results.mjs').Finding} Finding */

/** @type {Readonly<Record<string, (stage: Stage) => Promise<Finding>>>} */
const RESULTS = { capacity, waiting, refusing, ready, breaker, stop };

const WRONG_OPTIONS = 2;
const SIGNALS = /** @type {const} */ ({ SIGINT: 130, SIGTERM: 143 });
/** Of one result: three times what the slowest takes on a slow machine. */
const LIMIT_SECONDS = 180;

const USAGE = `npm run verify:load -- [options]

  --short           fewer calls: under a minute in all
  --only NAME,…     some of: ${Object.keys(RESULTS).join(', ')}
  --balancer KIND   auto (default: HAProxy when it is installed), haproxy or own
  --json            the rows as one JSON array instead of a table
`;

function options() {
  try {
    const { values } = parseArgs({
      options: {
        short: { type: 'boolean', default: false },
        only: { type: 'string', default: Object.keys(RESULTS).join(',') },
        balancer: { type: 'string', default: 'auto' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) {
      process.stdout.write(USAGE);
      process.exit(0);
    }
    const names = values.only.split(',');
    const unknown = names.find((name) => !Object.hasOwn(RESULTS, name));
    if (unknown !== undefined) throw new Error(`--only takes ${Object.keys(RESULTS).join(', ')}`);
    return { short: values.short, names, balancer: balancerOf(values.balancer), json: values.json };
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n\n${USAGE}`);
    process.exit(WRONG_OPTIONS);
  }
}

/** @param {string} wish @returns {'haproxy' | 'own'} */
function balancerOf(wish) {
  if (wish === 'auto') return findHaproxy() === undefined ? 'own' : 'haproxy';
  if (wish === 'haproxy' || wish === 'own') return wish;
  throw new Error('--balancer takes auto, haproxy or own');
}

/** @param {unknown} error */
const messageOf = (error) => (error instanceof Error ? error.message : String(error));

/**
 * One row. A result that fails on the way is a result that was not shown.
 *
 * @param {string} name @param {Stage} stage
 * @returns {Promise<import('./verify-load/results.mjs').Row>}
 */
async function show(name, stage) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  /** @type {Promise<never>} */
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done in ${LIMIT_SECONDS} s`)), 1000 * LIMIT_SECONDS);
  });
  try {
    const result = RESULTS[name];
    if (result === undefined) throw new Error('no such result');
    return { name, ...(await Promise.race([result(stage), late])) };
  } catch (error) {
    return { name, figure: messageOf(error), limit: 'to be shown at all', pass: false };
  } finally {
    clearTimeout(timer);
    // What a failed result has left must not disturb the next one.
    await stage.children.endAll();
  }
}

const { short, names, balancer, json } = options();
const children = new Children();
for (const [signal, code] of Object.entries(SIGNALS)) {
  process.once(signal, () => void children.endAll().then(() => process.exit(code)));
}
const ci = process.env['CI'] === 'true';
const database = await startSlowDatabase();
/** @type {import('./verify-load/results.mjs').Row[]} */
const rows = [];
try {
  for (const name of names) {
    process.stderr.write(`${name} …\n`);
    rows.push(await show(name, { children, database, short, ci, balancer }));
  }
} finally {
  await children.close();
  await database.stop();
}
process.stdout.write(json ? `${JSON.stringify(rows)}\n` : table(rows));
// Not only the exit code: whatever a failed result still waits for must not keep the process.
process.exit(rows.every(({ pass }) => pass) ? 0 : 1);
