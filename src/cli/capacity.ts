import { type Command, InvalidArgumentError } from 'commander';
import { type CapacityAnswer, capacityOf, type CapacityQuestion } from './capacity-arithmetic.js';
import type { Terminal } from './terminal.js';

/** Exit codes of the command; a command line that cannot be carried out is 2, as for every command. */
export const CAPACITY = { fits: 0, tooMuch: 1 } as const;

interface Flags {
  readonly replicas: number;
  readonly surge: number;
  readonly pool: number;
  readonly concurrency?: number;
  readonly maxConnections: number;
  readonly reserved: number;
  readonly others: number;
  readonly apiCeiling?: number;
  readonly apiConcurrency: number;
  readonly operationMs?: number;
  readonly json?: true;
}

const DESCRIPTION = `What so many replicas ask of a database and an API, and how many these bear.
Reads no settings and asks nobody: say what is planned.
Exit code: 0 it fits; 1 it is too much.`;

/** The largest that any of these numbers can be: more is a slip of the keyboard. */
const MOST = 1_000_000;

/** Registers `capacity` on `program`; `done` takes its exit code. */
export function capacity(program: Command, terminal: Terminal, done: (code: number) => void): void {
  program
    .command('capacity')
    .description(DESCRIPTION)
    .option('--replicas <n>', 'largest number of replicas', from(1), 3)
    .option('--surge <n>', 'replicas above that number while an update runs', from(0), 1)
    .option('--pool <n>', 'MCP_CORP_POSTGRES__MAX_POOL_SIZE', from(1), 10)
    .option('--concurrency <n>', 'MCP_CORP_POSTGRES__MAX_CONCURRENCY (default: the pool)', from(1))
    .option('--max-connections <n>', "the database's max_connections", from(1), 100)
    .option('--reserved <n>', 'connections kept for superusers and for the database itself', from(0), 15)
    .option('--others <n>', 'connections that everybody else uses', from(0), 0)
    .option('--api-ceiling <n>', 'requests that the balance API bears at a time', from(1))
    .option('--api-concurrency <n>', 'MCP_CORP_SALDO_API__MAX_CONCURRENCY', from(1), 10)
    .option('--operation-ms <n>', 'mean time of one operation at the database, in milliseconds', from(1))
    .option('--json', 'print one JSON object')
    .action(({ json = undefined, ...flags }: Flags) => {
      const question: CapacityQuestion = { ...flags, concurrency: flags.concurrency ?? flags.pool };
      if (question.concurrency > question.pool) {
        terminal.err('mcp-corp capacity: the server refuses a concurrency above its pool\n');
        return done(CAPACITY.tooMuch);
      }
      const answer = capacityOf(question);
      terminal.out(json === undefined ? textOf(question, answer) : `${JSON.stringify({ question, answer })}\n`);
      done(answer.fits ? CAPACITY.fits : CAPACITY.tooMuch);
    });
}

function from(least: number) {
  return (text: string): number => {
    const value = /^\d{1,7}$/.test(text) ? Number(text) : -1;
    if (value < least || value > MOST) throw new InvalidArgumentError(`It is a whole number from ${least} to ${MOST}.`);
    return value;
  };
}

function textOf(
  question: CapacityQuestion,
  { atOnce, database, api, operationsPerSecond, fits }: CapacityAnswer,
): string {
  const { replicas, surge, pool, maxConnections, reserved, others, apiConcurrency } = question;
  const verdict = (well: boolean) => (well ? 'fits' : 'TOO MUCH');
  const lines = [
    `at once       ${replicas} replicas + ${surge} while an update runs = ${atOnce}   (MCP_CORP_REPLICAS=${atOnce})`,
    `database      ${maxConnections} connections - ${reserved} reserved - ${others} of others = ${database.usable} usable`,
    `              ${atOnce} × pool ${pool} = ${database.used}: ${verdict(database.fits)}`,
    `              with pool ${pool} at most ${database.largestReplicas} replicas; for ${replicas} replicas a pool of at most ${database.largestPool}`,
  ];
  if (!database.fits)
    lines.push('              fewer replicas, a smaller pool, or PgBouncer in transaction mode before the database');
  if (api !== undefined) {
    lines.push(
      `balance API   ${atOnce} × concurrency ${apiConcurrency} = ${api.used} of ${api.ceiling}: ${verdict(api.fits)}`,
      `              with concurrency ${apiConcurrency} at most ${api.largestReplicas} replicas; for ${replicas} replicas a concurrency of at most ${api.largestConcurrency}`,
    );
  }
  if (operationsPerSecond !== undefined) {
    lines.push(
      `throughput    ${replicas} × ${question.concurrency} slots / ${question.operationMs} ms = at most ${Math.floor(operationsPerSecond)} database operations per second`,
    );
  }
  lines.push(`result        ${verdict(fits)}`);
  return `${lines.join('\n')}\n`;
}
