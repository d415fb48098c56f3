import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ServerProcess } from '../support/server-process.js';
import { createWorld, type World } from '../support/world.js';

/** What README.md lets its reader paste, and what it says comes back. */
const ROOT = new URL('../../', import.meta.url).pathname;
const README = readFileSync(`${ROOT}README.md`, 'utf8');
const BLOCKS = [...README.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map(([, language = '', text = '']) => ({
  language,
  text,
}));

let world: World;
let server: ServerProcess;
beforeAll(async () => {
  world = await createWorld();
  server = await ServerProcess.ready(world.env);
});
afterAll(async () => {
  await server.stop();
  await world[Symbol.asyncDispose]();
});

/** Runs a block as it is, but against the test's server. */
async function paste(text: string): Promise<string> {
  const script = text.replaceAll('http://127.0.0.1:8000', server.url);
  return (await promisify(execFile)('/bin/sh', ['-euc', script], { cwd: ROOT, encoding: 'utf8' })).stdout;
}

interface Answer {
  readonly result: { readonly structuredContent?: unknown; readonly isError?: boolean };
}

describe('the calls of the README', () => {
  const calls = BLOCKS.map(({ language, text }, index) => ({ text, language, next: BLOCKS[index + 1] })).filter(
    ({ language, text }) => language === 'sh' && text.includes('/mcp -H'),
  );

  it.each(calls)('works as pasted: $text', async ({ text, next }) => {
    const answers = (await paste(text)).split(/(?<=\})(?=\{)/).map((line) => JSON.parse(line) as Answer);

    for (const { result } of answers) expect(result).toBeDefined();
    const [first] = answers;
    // The block behind a call is its answer: the whole result of a refusal, the payload of a success.
    if (next?.language !== 'json' || next.text.includes('mcpServers')) return;
    expect(first?.result.structuredContent ?? first?.result).toEqual(JSON.parse(next.text));
  });

  it('there are some', () => expect(calls.length).toBeGreaterThanOrEqual(4));

  it('the first payload that is shown is the answer of the first call', async () => {
    const payload = BLOCKS.find(
      ({ language, text }) => language === 'json' && text.includes('"resumen_completo": true'),
    );
    const { result } = JSON.parse(await paste(calls[0]?.text ?? '')) as Answer;
    expect(result.structuredContent).toEqual(JSON.parse(payload?.text ?? ''));
  });
});

it('the program with the official client works as pasted', async () => {
  const program = BLOCKS.find(({ text }) => text.includes("from '@modelcontextprotocol/client'"));
  expect(JSON.parse(await paste(program?.text ?? ''))).toMatchObject({ cedula: 'V16760321', estado: 'moroso' });
});

it('the audit record that is shown has the fields and the pseudonym of a real one', async () => {
  const sample = JSON.parse(
    BLOCKS.find(({ text }) => text.includes('tool_invocation_completed'))?.text ?? '',
  ) as object;
  const call = BLOCKS.find(({ text }) => text.includes('V-16.760.320') && text.includes('resumen_cliente'));
  await paste(call?.text ?? '');
  const real = () =>
    server
      .events('tool_invocation_completed')
      .find(({ tool, result }) => tool === 'resumen_cliente' && result === 'success');
  await server.until(() => real() !== undefined);
  const record = real();

  expect(Object.keys(sample)).toEqual(Object.keys(record ?? {}));
  expect(sample).toMatchObject({
    message: record?.message,
    identifier: record?.['identifier'],
    key_id: record?.['key_id'],
  });
});

it('links to no file that is not there', () => {
  const links = [...README.matchAll(/\]\((?!#|https?:)([^)#]+)/g)].map(([, path = '']) => path);
  expect(links.length).toBeGreaterThan(5);
  for (const path of links) expect(() => readFileSync(`${ROOT}${path}`)).not.toThrow();
});
