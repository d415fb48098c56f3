import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { FileSink, FileSinkError } from '../../../src/logging/file-sink.js';
import { HandTimers, turn, wholeLines } from './sink-doubles.js';

let folder: string;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'file-sink-'));
});
afterEach(() => fs.rmSync(folder, { recursive: true }));

const failed = async (sink: FileSink): Promise<void> => {
  while (sink.failure === undefined) await turn();
};

describe('FileSink', () => {
  it('creates its file with mode 0600 and appends whole lines', async () => {
    const file = path.join(folder, 'audit.log');
    const first = FileSink.open(file);
    first.write('one');
    expect(await first.flush(60_000)).toBe(true);
    first.close();
    const second = FileSink.open(file);
    second.write('two');
    second.write('tres ñ');
    expect(await second.flush(60_000)).toBe(true);
    second.close();
    expect(fs.readFileSync(file, 'utf8')).toBe('one\ntwo\ntres ñ\n');
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  });

  it('starts on a new line when a killed process left half a line', async () => {
    const file = path.join(folder, 'audit.log');
    fs.writeFileSync(file, '{"whole":1}\n{"half');
    const sink = FileSink.open(file);
    sink.write('{"next":2}');
    await sink.flush(60_000);
    sink.close();
    expect(fs.readFileSync(file, 'utf8')).toBe('{"whole":1}\n{"half\n{"next":2}\n');
  });

  it('says at once, by code and without the path, that it cannot be opened', () => {
    const file = path.join(folder, 'no-such-folder', 'audit.log');
    const open = () => FileSink.open(file);
    expect(open).toThrow(FileSinkError);
    expect(open).toThrow(
      expect.objectContaining({ code: 'ENOENT', message: expect.not.stringContaining(folder) as unknown }),
    );
  });

  it('keeps its lines while the disk is full, within the bound, and never throws', async () => {
    const timers = new HandTimers();
    const sink = FileSink.over(fs.openSync('/dev/full', 'a'), {
      maxUnwrittenBytes: 12,
      reserveBytes: 6,
      after: timers.after,
    });
    expect(sink.write('12345')).toBe(true);
    await failed(sink);
    expect(sink.failure?.code).toBe('ENOSPC');
    expect(sink.write('12345')).toBe(true);
    expect(sink.write('12345')).toBe(false);
    expect(sink.write('12345', true)).toBe(true);
    expect(await sink.flush(5)).toBe(false);
    expect(sink.lostLines).toBe(0);
    expect(sink.unwrittenBytes).toBe(18);
    sink.close();
    expect(sink.write('late')).toBe(false);
  });

  it('continues from the exact byte when a full pipe has room again: nothing lost, torn or written twice', async () => {
    const fifo = path.join(folder, 'audit.pipe');
    execFileSync('mkfifo', [fifo]);
    // Without a reader opening must not hang the start; the pipe of 64 KiB then fills up.
    const sink = FileSink.open(fifo);
    const lines = Array.from({ length: 400 }, (_, index) => `${index}:${'x'.repeat(997)}`);
    for (const line of lines) expect(sink.write(line)).toBe(true);
    await failed(sink);
    expect(sink.failure?.code).toBe('EAGAIN');
    const flushed = sink.flush(60_000);
    const reader = fs.openSync(fifo, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
    const chunk = Buffer.alloc(1000);
    let text = '';
    while (sink.unwrittenBytes > 0) {
      text += read(reader, chunk);
      await turn();
    }
    for (let more = read(reader, chunk); more !== ''; more = read(reader, chunk)) text += more;
    expect(await flushed).toBe(true);
    expect(sink.failure).toBeUndefined();
    expect(wholeLines(text)).toEqual(lines);
    fs.closeSync(reader);
    sink.close();
    sink.close();
  });
});

function read(descriptor: number, chunk: Buffer): string {
  try {
    return chunk.toString('latin1', 0, fs.readSync(descriptor, chunk));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return '';
    throw error;
  }
}
