import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { freePort, ServerProcess } from '../support/server-process.js';

const ROOT = new URL('../../', import.meta.url).pathname;
const MAIN = join(ROOT, 'dist/cli/main.js');
const NO_NETWORK = join(ROOT, 'test/support/no-network.mjs');
const POLICY = join(ROOT, 'examples/policy/policy.yaml');
const EXPECTATIONS = join(ROOT, 'examples/policy/expectations.yaml');
const folder = mkdtempSync(join(tmpdir(), 'mcp-corp-cli-'));
afterAll(() => rmSync(folder, { recursive: true }));

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

/** In a process that dies when it touches the network, and with an environment of its own. */
async function run(args: readonly string[], script = MAIN): Promise<Ran> {
  const child = spawn(process.execPath, ['--import', NO_NETWORK, script, ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, err };
}
const json = ({ out }: Ran) => JSON.parse(out) as Record<string, unknown>;

describe('the network', () => {
  it('is really cut off in these tests', async () => {
    const script = join(folder, 'connects.mjs');
    writeFileSync(script, "import { connect } from 'node:net'; connect(1, '127.0.0.1');");
    expect(await run([], script)).toMatchObject({ code: 97 });
    expect(await run(['serve'])).toMatchObject({ code: 97 });
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
    ['a wrong value of serve', ['serve', '--port', 'x'], 2],
    ['serve with a broken policy', ['serve', BROKEN], 1],
    ['serve with a policy that is not there', ['serve', 'no-hay.yaml'], 3],
  ])('with %s opens no socket and ends with its exit code', async (_, args, code) => {
    const ran = await run(args);
    expect({ code: ran.code, err: ran.err.includes('NETWORK') }).toEqual({ code, err: false });
    expect(`${ran.out}${ran.err}`).not.toMatch(/\n\s+at .*\.js/);
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

  it('says each finding as a JSON line when it does not serve', async () => {
    const { out } = await run(['serve', BROKEN]);
    const lines = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines).toContainEqual(
      expect.objectContaining({
        message: 'policy_diagnostic',
        level: 'ERROR',
        code: 'unknown_account_in_grant',
        pointer: '/grants/4/using',
        line: expect.any(Number),
      }),
    );
    expect(out).not.toContain('broken.yaml');
  });

  it('serves without a policy as npm start does, and ends with 0', async () => {
    const port = await freePort();
    await using server = await ServerProcess.ready({}, { port, command: [MAIN, 'serve', '--port', String(port)] });
    expect(await server.stop()).toBe(0);
  });
});
