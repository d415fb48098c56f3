import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../../scripts/free-port.mjs';
import { ServerProcess } from '../support/server-process.js';

const ROOT = new URL('../../', import.meta.url).pathname;
const BIN = join(ROOT, 'scripts/mcp-corp.mjs');
const MANY_COMMANDS = join(ROOT, 'test/support/many-commands.mjs');
const NO_NETWORK = join(ROOT, 'test/support/no-network.mjs');
const POLICY = join(ROOT, 'examples/policy/policy.yaml');
const EXPECTATIONS = join(ROOT, 'examples/policy/expectations.yaml');
const folder = mkdtempSync(join(tmpdir(), 'mcp-corp-cli-'));
afterAll(async () => {
  // Nothing that any command did has touched the network, up to the end.
  expect(await commands.end()).toBe(0);
  rmSync(folder, { recursive: true });
});

const changed = (name: string, change: (text: string) => string, file = POLICY): string => {
  const path = join(folder, name);
  writeFileSync(path, change(readFileSync(file, 'utf8')));
  return path;
};
const BROKEN = changed('broken.yaml', (text) => text.replace('using: lector-saldos', 'using: nadie'));
const WIDER = changed('wider.yaml', (text) => text.replace('calls: 30', 'calls: 300'));
const REORDERED = changed('reordered.yaml', (text) => {
  const [head = '', grants = ''] = text.split('\ngrants:\n');
  return `${head}\ngrants:\n${grants
    .split(/\n(?= {2}- to)/)
    .reverse()
    .join('\n')}\n`;
});

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** A process that dies when it touches the network, with an environment of its own. */
const spawned = (script: string, args: readonly string[], stdin: 'ignore' | 'pipe') =>
  spawn(process.execPath, ['--import', NO_NETWORK, script, ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'] },
    stdio: [stdin, 'pipe', 'pipe'],
  });

/** The program as it is installed, in a process of its own. */
async function runAlone(args: readonly string[], script = BIN): Promise<Ran> {
  const child = spawned(script, args, 'ignore');
  let [out, err] = ['', ''];
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (err += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, err };
}

/** The same program, one process for all questions: each start takes seconds on a busy machine. Its network is cut off too. */
class ManyCommands {
  readonly #child = spawned(MANY_COMMANDS, [], 'pipe');
  readonly #answers = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]();
  #said = '';

  constructor() {
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#said += text));
  }

  async run(args: readonly string[]): Promise<Ran> {
    this.#child.stdin?.write(`${JSON.stringify(args)}\n`);
    const { value, done } = await this.#answers.next();
    if (done === true) throw new Error(`the process has ended: ${this.#said}`);
    return JSON.parse(value) as Ran;
  }

  /** The exit code. */
  async end(): Promise<number | null> {
    this.#child.stdin?.end();
    const [code] = (await once(this.#child, 'close')) as [number | null];
    return code;
  }
}
const commands = new ManyCommands();
const run = (args: readonly string[]): Promise<Ran> => commands.run(args);
const json = ({ out }: Ran) => JSON.parse(out) as Record<string, unknown>;

describe('the network', () => {
  it('is really cut off in these tests', async () => {
    const script = join(folder, 'connects.mjs');
    writeFileSync(script, "import { connect } from 'node:net'; connect(1, '127.0.0.1');");
    const [connects, serves] = await Promise.all([runAlone([], script), runAlone(['serve'])]);
    expect(connects).toMatchObject({ code: 97 });
    expect(serves).toMatchObject({ code: 97 });
  });

  it('is not asked for by the installed program either', async () => {
    const [checked, version] = await Promise.all([runAlone(['validate', POLICY]), runAlone(['version', '--json'])]);
    expect(checked).toEqual({ code: 0, out: expect.stringContaining('0 errors, 0 warnings'), err: '' });
    expect(json(version)).toEqual({ 'mcp-corp': expect.any(String), node: process.version });
  });
});

describe('mcp-corp', () => {
  it.each<[string, readonly string[], number]>([
    ['no command', [], 2],
    ['help', ['--help'], 0],
    ['an unknown command', ['servir'], 2],
    ['an unknown flag', ['validate', POLICY, '--no-hay'], 2],
    ['a missing flag', ['explain', POLICY, '--capability', 'cliente.leer'], 2],
    ['a flag that makes no sense', ['explain', POLICY, '--issuer', 'caja', '--capability', 'x', '--usage', 'mucho'], 2],
    ['neither capability nor entry', ['explain', POLICY, '--issuer', 'caja'], 2],
    ['an identifier that is none', ['explain', POLICY, '--issuer', 'caja', '--capability', 'x', '--about', '?'], 2],
    ['a policy', ['validate', POLICY], 0],
    ['a broken policy', ['validate', BROKEN], 1],
    ['a policy that is not there', ['validate', 'no-hay.yaml'], 3],
    ['a broken policy to explain', ['explain', BROKEN, '--issuer', 'caja', '--capability', 'saldo.leer'], 1],
    ['a denial', ['explain', POLICY, '--issuer', 'atencion', '--capability', 'saldo.leer'], 0],
    ['who can', ['who-can', POLICY, '--capability', 'cliente.leer'], 0],
    ['the same twice', ['diff', POLICY, POLICY], 0],
    ['the same in another order', ['diff', POLICY, REORDERED], 0],
    ['a difference', ['diff', POLICY, WIDER], 1],
    ['a side that does not compile', ['diff', POLICY, BROKEN], 1],
    ['expectations that are met', ['test', POLICY, EXPECTATIONS], 0],
    ['expectations that are not', ['test', WIDER, EXPECTATIONS], 1],
    ['expectations that are none', ['test', POLICY, POLICY], 2],
    ['the schema', ['schema'], 0],
    ['the version', ['version'], 0],
    ['a wrong flag of serve', ['serve', '--puerto', '1'], 2],
  ])('with %s opens no socket and ends with its exit code', async (_, args, code) => {
    const ran = await run(args);
    expect(ran.code).toBe(code);
    expect(`${ran.out}${ran.err}`).not.toMatch(/\n\s+at .*\.js/);
  });

  it.each<[string, readonly string[], number]>([
    ['validate', ['validate', BROKEN], 1],
    ['explain', ['explain', BROKEN, '--issuer', 'caja', '--capability', 'saldo.leer'], 1],
    ['who-can', ['who-can', BROKEN, '--capability', 'saldo.leer'], 1],
    ['diff', ['diff', POLICY, BROKEN], 1],
    ['test', ['test', BROKEN, EXPECTATIONS], 1],
    ['test, of a file that is none', ['test', POLICY, POLICY], 2],
    ['validate, of a file that is not there', ['validate', 'no-hay.yaml'], 3],
    ['explain, of a file that is not there', ['explain', 'no-hay.yaml', '--issuer', 'x', '--capability', 'x'], 3],
    ['diff, of a file that is not there', ['diff', POLICY, 'no-hay.yaml'], 3],
    ['test, of a file that is not there', ['test', POLICY, 'no-hay.yaml'], 3],
    ['schema', ['schema'], 0],
    ['who-can, of nobody', ['who-can', POLICY, '--capability', 'no.hay'], 0],
  ])('answers %s in JSON on stdout, also when there is no answer', async (_, args, code) => {
    const ran = await run([...args, '--json']);
    expect(ran).toEqual({ code, out: expect.any(String), err: '' });
    expect(json(ran)).toEqual(expect.any(Object));
    if (args.includes(BROKEN))
      expect(ran.out).toContain(args[0] === 'diff' ? '"comparable": false' : 'unknown_account_in_grant');
  });

  it('says every finding with its place, for people and for programs', async () => {
    const { out } = await run(['validate', BROKEN]);
    expect(out).toMatch(/broken\.yaml:\d+:\d+ {2}error {2}unknown_account_in_grant/);
    const found = json(await run(['validate', BROKEN, '--json']));
    expect(Object.keys(found)).toEqual(['origin', 'version', 'diagnostics']);
    expect(found['diagnostics']).toContainEqual(
      expect.objectContaining({
        code: 'unknown_account_in_grant',
        position: expect.objectContaining({ line: expect.any(Number) }),
      }),
    );
  });

  it('explains with the account, the ceilings, what is left out, and the parts of a composite', async () => {
    const found = json(await run(['explain', POLICY, '--issuer', 'atencion', '--entry', 'resumen_cliente', '--json']));
    expect(found).toMatchObject({
      resolution: { ok: true, principal: { id: 'atencion:centro-de-llamadas' } },
      decision: { outcome: 'allow', account: 'lector-clientes', omit: ['email'], charges: [{ limit: 30 }] },
      position: { line: expect.any(Number) },
      tools: [{ name: 'resumen_cliente', parts: { consultar_saldo: { outcome: 'deny', code: 'no_grant_matches' } } }],
    });
    const { out } = await run([
      'explain',
      POLICY,
      '--issuer',
      'titular',
      '--capability',
      'saldo.leer',
      '--about',
      'V1',
    ]);
    expect(out).toMatch(/DENIED {6}subject_not_allowed/);
  });

  it('tells what a difference is', async () => {
    const found = json(await run(['diff', POLICY, WIDER, '--json']));
    expect(found).toMatchObject({ comparable: true, before: expect.any(String), after: expect.any(String) });
    expect(found['changes']).toHaveLength(4);
    expect((await run(['diff', POLICY, WIDER])).out).toContain('300 calls per 1m');
    expect((await run(['diff', POLICY, BROKEN])).out).toContain('does not compile');
  });

  it('tells which expectation is not met, and where a file of them is wrong', async () => {
    expect((await run(['test', WIDER, EXPECTATIONS])).out).toMatch(
      /FAIL the call centre is stopped[^\n]*\n {5}expect: expected "deny", got "allow"/,
    );
    const wrong = changed('wrong.yaml', (text) => text.replace('expect: deny', 'expect: quizás'), EXPECTATIONS);
    expect((await run(['test', POLICY, wrong])).err).toMatch(/wrong\.yaml:\d+:\d+ \/tests\/1\/expect/);
  });

  it('prints the schema that the example is edited with', async () => {
    const { out } = await run(['schema']);
    expect(JSON.parse(out)).toEqual(JSON.parse(readFileSync(join(ROOT, 'examples/policy/policy.schema.json'), 'utf8')));
  });

  it('does not serve with wrong flags, a policy with errors or one that is not there, and says why in JSON lines', async () => {
    const [flags, broken, missing] = await Promise.all([
      runAlone(['serve', '--port', 'x']),
      runAlone(['serve', BROKEN]),
      runAlone(['serve', 'no-hay.yaml']),
    ]);
    expect([flags, broken, missing].map(({ code }) => code)).toEqual([2, 1, 3]);
    const lines = ({ out }: Ran) =>
      out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines(flags)).toContainEqual(expect.objectContaining({ message: 'configuration_error' }));
    expect(lines(missing)).toContainEqual(expect.objectContaining({ message: 'policy_unreachable', code: 'ENOENT' }));
    expect(lines(broken)).toContainEqual(
      expect.objectContaining({
        message: 'policy_diagnostic',
        level: 'ERROR',
        code: 'unknown_account_in_grant',
        pointer: '/grants/4/using',
        line: expect.any(Number),
      }),
    );
    expect(broken.out).not.toContain('broken.yaml');
  });

  it('serves without a policy as npm start does, and ends with 0', async () => {
    const port = await freePort();
    await using server = await ServerProcess.ready({}, { port, command: [BIN, 'serve', '--port', String(port)] });
    expect(await server.stop()).toBe(0);
  });
});
