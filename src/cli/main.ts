#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { VERSION } from '../config/version.js';
import { auditReconcile } from './audit-reconcile.js';
import { capacity } from './capacity.js';

/** Exit code of a command line that nobody can carry out. */
const USAGE = 2;

const program = new Command('mcp-corp').description('The corporate MCP server, from the command line.').exitOverride();
program
  .command('version')
  .description('Print the version.')
  .action(() => void process.stdout.write(`${VERSION}\n`));
auditReconcile(program);
const terminal = {
  out: (text: string) => void process.stdout.write(text),
  err: (text: string) => void process.stderr.write(text),
};
capacity(program, terminal, (code) => (process.exitCode = code));

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : USAGE;
}
