import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { ConfigurationError } from '../config/problem.js';
import { VERSION } from '../config/version.js';
import type { Variables } from '../config/variables.js';
import type { Discover } from '../governance/load-served.js';
import { ARTEFACT_SCHEMA } from '../governance/policy-file/artefact-schema.js';
import { PolicyUnreachableError } from '../governance/served-policy.js';
import { auditReconcile } from './audit-reconcile.js';
import { capacity } from './capacity.js';
import { diff } from './diff.js';
import { CommandFailure, EXIT_CODES } from './exit-codes.js';
import { explain } from './explain.js';
import { test } from './expectations.js';
import { withCatalogue, type Product } from './policy-argument.js';
import type { WrittenQuestion } from './question.js';
import { catalog, type CatalogFlags } from './catalog.js';
import { answer, asJson, type Terminal } from './terminal.js';
import { validate } from './validate.js';
import { whoCan } from './who-can.js';

export interface CliSurroundings {
  /** Loaded when a command needs it: the product is much larger than the command line. */
  readonly product: () => Promise<Product>;
  readonly terminal: Terminal;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Serves until it is stopped; `flags` win over the variables of the same names. Resolves to the exit code. */
  readonly serve: (flags: Variables, stdio: boolean) => Promise<number>;
  /** Asks upstreams what they have. */
  readonly discover: () => Promise<Discover>;
}

interface Json {
  readonly json?: true;
  /** Of the dry runs: a declared catalogue. */
  readonly catalog?: string;
}

interface ExplainFlags extends Json {
  readonly issuer: string;
  readonly subject?: string;
  readonly attr?: Readonly<Record<string, string>>;
  readonly capability?: string;
  readonly entry?: string;
  readonly about?: string;
  readonly usage?: WrittenQuestion['usage'];
  readonly at?: number;
}

interface ServeFlags {
  readonly host?: string;
  readonly port?: string;
  readonly keyHeader?: string;
  readonly catalog?: string;
  readonly discover?: true;
  readonly stdio?: true;
  readonly keyEnv?: string;
}

/** The command line. Only `serve` and `catalog` open a socket. Resolves to the exit code; nothing is written but to the terminal. */
export async function runProgram(args: readonly string[], surroundings: CliSurroundings): Promise<number> {
  const { terminal } = surroundings;
  let exitCode: number = EXIT_CODES.ok;
  const program = commands(surroundings, (code) => (exitCode = code));
  try {
    if (args.length === 0) throw new CommandFailure(EXIT_CODES.usage, program.helpInformation());
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.ok : EXIT_CODES.usage;
    const failure = failureOf(error);
    if (failure === undefined) throw error;
    // Whoever asked for JSON reads stdout, also when there is no answer.
    if (args.includes('--json')) terminal.out(asJson({ error: failure.message, ...failure.data }));
    else terminal.err(`${failure.message}\n`);
    return failure.exitCode;
  }
}

/** What whoever asked can be told; undefined for a fault of this program. */
function failureOf(error: unknown): CommandFailure | undefined {
  if (error instanceof CommandFailure) return error;
  if (error instanceof PolicyUnreachableError)
    return new CommandFailure(EXIT_CODES.unreachable, `a file cannot be read (${error.code})`);
  if (!(error instanceof ConfigurationError)) return undefined;
  const said = error.problems.map(({ variable, problem }) => `${variable} ${problem}`);
  return new CommandFailure(EXIT_CODES.usage, said.join('\n'));
}

function commands(
  { product: own, terminal, now, serve, discover }: CliSurroundings,
  done: (code: number) => void,
): Command {
  const program = new Command('mcp-corp')
    .description('Governed MCP server: checks policies without contacting anything, and serves.')
    .exitOverride()
    .configureOutput({ writeOut: (text) => terminal.out(text), writeErr: (text) => terminal.err(text) });
  const json = ['--json', 'the answer as JSON'] as const;
  const declared = ['--catalog <file>', 'declared catalogue: what the remote upstreams have'] as const;
  const product = async ({ catalog: path }: Json = {}): Promise<Product> => withCatalogue(await own(), path);

  program
    .command('validate <policy>')
    .description('every finding about a policy; 1 when one is an error')
    .option(...declared)
    .option(...json)
    .action(async (policy: string, flags: Json) =>
      done(await validate(policy, flags.json === true, await product(flags), terminal)),
    );

  program
    .command('explain <policy>')
    .description('what would be decided for one caller and one capability, and why')
    .requiredOption('--issuer <id>', 'who recognises the caller')
    .option('--subject <name>', 'who it is; a static key declares it')
    .option('--attr <name=value>', 'an attribute of the caller; may be repeated', attribute)
    .option('--capability <id>', 'what is asked for')
    .option('--entry <name>', 'instead: a tool or prompt by its name, a resource by its URI')
    .option('--about <identifier>', 'whose data; without it nobody in particular')
    .addOption(new Option('--usage <n|unknown|none>', 'calls made so far in each window').default(0).argParser(usage))
    .option('--at <instant>', 'ISO 8601; by default now', instant)
    .option(...declared)
    .option(...json)
    .action(async (policy: string, { json: asked, attr: attributes, catalog: path, ...flags }: ExplainFlags) => {
      const written = { ...flags, ...(attributes && { attributes }) };
      done(await explain(policy, written, asked === true, await product({ catalog: path }), terminal, now()));
    });

  program
    .command('who-can <policy>')
    .description('every grant that opens a capability')
    .requiredOption('--capability <id>', 'the capability')
    .option(...declared)
    .option(...json)
    .action(async (policy: string, flags: Json & { readonly capability: string }) =>
      done(await whoCan(policy, flags.capability, flags.json === true, await product(flags), terminal)),
    );

  program
    .command('diff <before> <after>')
    .description('what would change for callers; 1 when anything would')
    .option(...declared)
    .option(...json)
    .action(async (before: string, after: string, flags: Json) =>
      done(await diff(before, after, flags.json === true, await product(flags), terminal)),
    );

  program
    .command('test <policy> <expectations>')
    .description('compares a policy with a YAML file of expected decisions; 1 when any differs')
    .option(...declared)
    .option(...json)
    .action(async (policy: string, file: string, flags: Json) =>
      done(await test(policy, file, flags.json === true, await product(flags), terminal, now())),
    );

  program
    .command('schema')
    .description('the JSON Schema of a policy, for editors')
    .option(...json)
    .action(() => terminal.out(asJson(ARTEFACT_SCHEMA)));

  program
    .command('version')
    .description('the version of this program')
    .option(...json)
    .action((flags: Json) =>
      answer(
        terminal,
        flags.json === true,
        () => ({ 'mcp-corp': VERSION, node: process.version }),
        () => [`mcp-corp ${VERSION}`],
      ),
    );

  program
    .command('catalog <policy>')
    .description('asks the remote upstreams what they have and writes a declared catalogue; nothing when one fails')
    .option('--out <file>', 'instead of standard output')
    .option(...json)
    .action(async (policy: string, flags: CatalogFlags) =>
      done(await catalog(policy, flags, await product(), terminal, await discover())),
    );

  auditReconcile(program, terminal, done);

  capacity(program, terminal, done);

  program
    .command('serve [policy]')
    .description('serves, governed by a policy; without one the same server as `npm start`')
    .option('--host <address>', 'instead of MCP_CORP_HOST')
    .option('--port <number>', 'instead of MCP_CORP_PORT')
    .option('--key-header <name>', "header with the caller's credential")
    .addOption(new Option('--catalog <file>', 'declared catalogue of the remote upstreams').conflicts('discover'))
    .option('--discover', 'asks the remote upstreams what they have, once, at the start')
    .addOption(
      new Option('--stdio', 'serves one client over stdin and stdout').conflicts(['host', 'port', 'keyHeader']),
    )
    .option('--key-env <name>', "with --stdio: variable with the caller's credential, read for each request")
    .option('--json', 'everything that is written is JSON lines anyway')
    .action(async (policy: string | undefined, flags: ServeFlags) =>
      done(await serve(variables(policy, flags), flags.stdio === true)),
    );

  return program;
}

function variables(policy: string | undefined, flags: ServeFlags): Variables {
  const { host, port, keyHeader, keyEnv, discover } = flags;
  const catalogue = discover === true ? 'discover' : flags.catalog;
  return {
    ...(policy !== undefined && { MCP_CORP_GOVERNANCE__MODE: 'policy', MCP_CORP_GOVERNANCE__POLICY: policy }),
    ...(host !== undefined && { MCP_CORP_HOST: host }),
    ...(port !== undefined && { MCP_CORP_PORT: port }),
    ...(keyHeader !== undefined && { MCP_CORP_GOVERNANCE__KEY_HEADER: keyHeader }),
    ...(keyEnv !== undefined && { MCP_CORP_GOVERNANCE__KEY_ENV: keyEnv }),
    ...(catalogue !== undefined && { MCP_CORP_GOVERNANCE__CATALOG: catalogue }),
  };
}

function attribute(text: string, others: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const [name, ...value] = text.split('=');
  if (name === undefined || name === '' || value.length === 0)
    throw new InvalidArgumentError('It is written name=value.');
  return { ...others, [name]: value.join('=') };
}

function usage(text: string): NonNullable<WrittenQuestion['usage']> {
  if (text === 'unknown' || text === 'none') return text;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It is a number of calls, unknown or none.');
}

function instant(text: string): number {
  const at = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(at)) throw new InvalidArgumentError('It is an instant of ISO 8601.');
  return at;
}
