// @ts-check
/**
 * The load script (spec §9.4): how many calls of one tool a server answers, and how fast.
 *
 *   npm run load -- [--url URL] [--tool NAME] [--identificador ID] [--concurrency N] [--requests-per-worker N] [--json]
 *
 * Exit codes: 0 every request was answered, 1 at least one was not, 2 wrong options.
 */
import { parseArgs } from 'node:util';
import { report, summarise } from './load/accounting.mjs';
import { ERAS } from './load/mcp-session.mjs';
import { runLoad } from './load/run-load.mjs';

const WRONG_OPTIONS = 2;
const MAX_CONCURRENCY = 1_000;
const MAX_REQUESTS = 1_000_000;
const MAX_TIMEOUT_SECONDS = 600;

const USAGE = `npm run load -- [options]

  --url URL                 endpoint (default http://localhost:8000/mcp)
  --tool NAME               tool to call (default resumen_cliente)
  --identificador ID        its argument (default V16760320)
  --concurrency N           callers at a time, one session each (default 10)
  --requests-per-worker N   calls of each, one after the other (default 10)
  --era REVISION            ${ERAS.join(' or ')} (default ${ERAS[0]})
  --timeout-seconds N       longest wait for one answer (default 30)
  --json                    one JSON object instead of lines
`;

/** @returns {import('./load/run-load.mjs').Load & { json: boolean }} */
function options() {
  try {
    const { values } = parseArgs({
      options: {
        url: { type: 'string', default: 'http://localhost:8000/mcp' },
        tool: { type: 'string', default: 'resumen_cliente' },
        identificador: { type: 'string', default: 'V16760320' },
        concurrency: { type: 'string', default: '10' },
        'requests-per-worker': { type: 'string', default: '10' },
        era: { type: 'string', default: ERAS[0] },
        'timeout-seconds': { type: 'string', default: '30' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) {
      process.stdout.write(USAGE);
      process.exit(0);
    }
    const url = URL.parse(values.url);
    if (!url || !['http:', 'https:'].includes(url.protocol)) throw new Error('--url takes an http or https URL');
    const era = ERAS.find((each) => each === values.era);
    if (era === undefined) throw new Error(`--era takes ${ERAS.join(' or ')}`);
    return {
      url: values.url,
      tool: values.tool,
      identificador: values.identificador,
      concurrency: count('--concurrency', values.concurrency, MAX_CONCURRENCY),
      requestsPerWorker: count('--requests-per-worker', values['requests-per-worker'], MAX_REQUESTS),
      timeoutMs: 1000 * count('--timeout-seconds', values['timeout-seconds'], MAX_TIMEOUT_SECONDS),
      era,
      json: values.json,
    };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    process.exit(WRONG_OPTIONS);
  }
}

/** @param {string} name @param {string} text @param {number} most */
function count(name, text, most) {
  const value = /^\d{1,7}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > most) throw new Error(`${name} takes a number from 1 to ${most}`);
  return value;
}

const { json, ...load } = options();
const summary = summarise(await runLoad(load));
process.stdout.write(json ? `${JSON.stringify(summary)}\n` : report(summary));
process.exitCode = summary.failed === 0 ? 0 : 1;
