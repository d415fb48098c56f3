import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { buildSinks, exitOf, runChild } from './child.js';
import { turn, wholeLines } from './sink-doubles.js';

/** Hands over `count` lines, then ends as the server does: flush, then exit. Its figures go to stderr. */
const program = (count: number, flushMs: number) => `
  const sink = standardSink('stdout');
  let accepted = 0;
  for (let i = 0; i < ${count}; i += 1) if (sink.write(JSON.stringify({ line: i, filler: 'x'.repeat(80) }))) accepted += 1;
  process.stderr.write('handed over\\n');
  const began = performance.now();
  const confirmed = await sink.flush(${flushMs});
  const after = sink.write('{"after":1}');
  const figures = { accepted, confirmed, after, code: sink.failure?.code ?? null, waited: performance.now() - began };
  process.stderr.write(JSON.stringify(figures) + '\\n', () => process.exit(0));
`;

interface Figures {
  readonly accepted: number;
  readonly confirmed: boolean;
  readonly after: boolean;
  readonly code: string | null;
  readonly waited: number;
}

const figuresOf = (stderr: string) => JSON.parse(wholeLines(stderr)[1] ?? '{}') as Figures;

let folder: string;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'standard-sink-'));
  buildSinks(folder);
});
afterEach(() => fs.rmSync(folder, { recursive: true }));

describe('standardSink in a process that ends with process.exit', () => {
  it('delivers every one of 10,000 lines through a pipe that is read slowly', async () => {
    const child = runChild(folder, program(10_000, 60_000), ['ignore', 'pipe', 'pipe']);
    const ended = exitOf(child);
    const stderr = text(child.stderr!);
    await once(child.stderr!, 'data');
    // Everything is handed over and nothing has been read: only now, and in small pieces.
    let received = '';
    child.stdout!.setEncoding('utf8');
    for await (const piece of child.stdout!) {
      received += String(piece);
      await turn();
    }
    expect(await ended).toBe(0);
    const lines = wholeLines(received);
    expect(lines.slice(0, 10_000).map((line) => (JSON.parse(line) as { line: number }).line)).toEqual(
      Array.from({ length: 10_000 }, (_, index) => index),
    );
    expect(figuresOf(await stderr)).toMatchObject({ accepted: 10_000, confirmed: true, code: null });
  });

  it('ends within the flush time when nobody reads the pipe', async () => {
    const child = runChild(folder, program(10_000, 300), ['ignore', 'pipe', 'pipe']);
    const ended = exitOf(child);
    const stderr = text(child.stderr!);
    await once(child, 'exit');
    child.stdout!.resume();
    expect(await ended).toBe(0);
    const figures = figuresOf(await stderr);
    expect(figures).toMatchObject({ accepted: 10_000, confirmed: false, code: null });
    expect(figures.waited).toBeGreaterThanOrEqual(299);
    expect(figures.waited).toBeLessThan(2_000);
  });

  it('survives a closed pipe, says so, and does not wait for it', async () => {
    const child = runChild(folder, program(100, 60_000), ['ignore', 'pipe', 'pipe']);
    child.stdout!.destroy();
    const ended = exitOf(child);
    const figures = figuresOf(await text(child.stderr!));
    expect(await ended).toBe(0);
    expect(figures).toMatchObject({ accepted: 100, confirmed: false, after: false, code: 'EPIPE' });
    expect(figures.waited).toBeLessThan(10_000);
  });

  it('survives a full disk behind stdout and says so', async () => {
    const full = fs.openSync('/dev/full', 'w');
    const child = runChild(folder, program(100, 100), ['ignore', full, 'pipe']);
    fs.closeSync(full);
    const ended = exitOf(child);
    const figures = figuresOf(await text(child.stderr!));
    expect(await ended).toBe(0);
    expect(figures).toMatchObject({ accepted: 100, confirmed: false, code: 'ENOSPC' });
  });

  it('writes every line to a file that stdout is redirected to', async () => {
    const file = path.join(folder, 'out.log');
    const descriptor = fs.openSync(file, 'w');
    const child = runChild(folder, program(10_000, 60_000), ['ignore', descriptor, 'pipe']);
    fs.closeSync(descriptor);
    const ended = exitOf(child);
    const figures = figuresOf(await text(child.stderr!));
    expect(await ended).toBe(0);
    expect(figures).toMatchObject({ accepted: 10_000, confirmed: true });
    expect(wholeLines(fs.readFileSync(file, 'utf8')).slice(0, 10_000)).toHaveLength(10_000);
  });

  it('never takes a short write for a whole one: a file that cannot grow tears no line in silence', async () => {
    const file = path.join(folder, 'out.log');
    const descriptor = fs.openSync(file, 'w');
    // Eight blocks, then EFBIG: the kernel writes what fits and says so by a short count.
    const child = runChild(folder, program(100, 100), ['ignore', descriptor, 'pipe'], 'ulimit -f 8');
    fs.closeSync(descriptor);
    const ended = exitOf(child);
    const figures = figuresOf(await text(child.stderr!));
    expect(await ended).toBe(0);
    expect(figures).toMatchObject({ accepted: 100, confirmed: false, code: 'EFBIG' });
  });

  it('leaves an error of stderr without effect on the process', async () => {
    const child = runChild(
      folder,
      `const sink = standardSink('stderr');
       sink.write('{"to":"nobody"}');
       const confirmed = await sink.flush(60_000);
       const out = standardSink('stdout');
       out.write(JSON.stringify({ confirmed, code: sink.failure?.code }));
       await out.flush(60_000);`,
      ['ignore', 'pipe', 'pipe'],
    );
    child.stderr!.destroy();
    const ended = exitOf(child);
    expect(JSON.parse(await text(child.stdout!))).toEqual({ confirmed: false, code: 'EPIPE' });
    expect(await ended).toBe(0);
  });
});
