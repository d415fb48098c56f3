import { createReadStream } from 'node:fs';
import type { Command } from 'commander';
import { eachLine } from './lines.js';
import type { Terminal } from './terminal.js';
import { isWhole, Reconciler, TooManyUnmatched, type AuditRecord, type Reconciliation } from './reconciliation.js';

/** Exit codes of the command: the trail is whole, something is missing, it cannot be judged. */
export const RECONCILED = { whole: 0, incomplete: 1, unjudged: 2 } as const;

const DESCRIPTION = `Name the calls whose start or end is missing from the audit, such as those of a replica that was killed.
Reads the audit's lines (other lines are passed over) from FILES, or from standard input ("-", or no file).
Exit code: 0 every call has its start and its end; 1 something is missing; 2 it could not be judged.`;

/** Registers `audit reconcile` on `program`; `done` takes its exit code. */
export function auditReconcile(program: Command, terminal: Terminal, done: (code: number) => void): void {
  const audit =
    program.commands.find((command) => command.name() === 'audit') ??
    program.command('audit').description('The audit trail.');
  audit
    .command('reconcile')
    .description(DESCRIPTION)
    .argument('[files...]', 'files with lines of the audit, in any order')
    .option('--json', 'print one JSON object')
    .action(async (files: string[], { json = false }: { json?: boolean }) => {
      done(await reconcile(files.length === 0 ? ['-'] : files, json, terminal));
    });
}

async function reconcile(files: readonly string[], json: boolean, terminal: Terminal): Promise<number> {
  const reconciler = new Reconciler();
  for (const [index, file] of files.entries()) {
    const input = file === '-' ? process.stdin : createReadStream(file);
    try {
      await eachLine(
        input,
        (text) => reconciler.line(text),
        () => reconciler.skipped(),
      );
    } catch (error) {
      // Which file by its place on the command line: its path is the caller's affair.
      const reason =
        error instanceof TooManyUnmatched ? error.message : `file ${index + 1} cannot be read (${codeOf(error)})`;
      terminal.err(`mcp-corp audit reconcile: ${reason}\n`);
      return RECONCILED.unjudged;
    }
  }
  const result = reconciler.result();
  terminal.out(json ? `${JSON.stringify(result)}\n` : textOf(result));
  return isWhole(result) ? RECONCILED.whole : RECONCILED.incomplete;
}

function textOf(result: Reconciliation): string {
  const { complete, starts_without_end, ends_without_start, interruptions, unreadable_lines } = result;
  const named = (what: string) => (record: AuditRecord) =>
    `${what}  ${record.correlation_id}  ${record.tool}  ${record.replica ?? '-'}  ${record.timestamp ?? '-'}`;
  const lines = [
    ...starts_without_end.map(named('start without end')),
    ...ends_without_start.map(named('end without start')),
    `${complete} complete, ${starts_without_end.length} starts without an end, ${ends_without_start.length} ends without a start`,
  ];
  if (interruptions > 0) lines.push(`the trail notes ${interruptions} times that records were lost`);
  if (unreadable_lines > 0) lines.push(`${unreadable_lines} unreadable lines`);
  return `${lines.join('\n')}\n`;
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'unknown';
}
