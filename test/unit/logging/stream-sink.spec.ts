import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MAX_UNWRITTEN_BYTES } from '../../../src/logging/batched-sink.js';
import { StreamSink } from '../../../src/logging/stream-sink.js';
import { HandStream, HandTimers, turn, wholeLines } from './sink-doubles.js';

describe('StreamSink', () => {
  it('writes lines in the order in which they were handed over', async () => {
    const stream = new HandStream();
    const sink = new StreamSink(stream);
    sink.write('one');
    sink.write('two');
    await stream.arrival();
    sink.write('three');
    await stream.succeed();
    await stream.succeed();
    expect(stream.output).toBe('one\ntwo\nthree\n');
  });

  it('shares one write among the lines of one turn', async () => {
    const stream = new HandStream();
    const sink = new StreamSink(stream);
    for (let i = 0; i < 50; i += 1) sink.write(`line ${i}`);
    await stream.succeed();
    expect(wholeLines(stream.output)).toHaveLength(50);
    expect(sink.unwrittenBytes).toBe(0);
  });

  it('counts bytes, not characters, as unwritten until the callback of their write', async () => {
    const stream = new HandStream();
    const sink = new StreamSink(stream);
    sink.write('ñandú');
    expect(sink.unwrittenBytes).toBe(8);
    await stream.arrival();
    sink.write('x');
    expect(sink.unwrittenBytes).toBe(10);
    await stream.succeed();
    expect(sink.unwrittenBytes).toBe(2);
    await stream.succeed();
    expect(sink.unwrittenBytes).toBe(0);
  });

  it('refuses what exceeds the bound, and accepts again once there is room', async () => {
    const stream = new HandStream();
    const sink = new StreamSink(stream, { maxUnwrittenBytes: 10 });
    expect(sink.write('123456789')).toBe(true);
    expect(sink.write('')).toBe(false);
    await stream.succeed();
    expect(sink.write('again')).toBe(true);
    await stream.succeed();
    expect(stream.output).toBe('123456789\nagain\n');
    expect(sink.lostLines).toBe(0);
  });

  it('has a bound of 8 MiB and holds no more than that and its reserve while the stream is stuck', () => {
    const sink = new StreamSink(new HandStream());
    const line = 'x'.repeat(1023);
    let accepted = 0;
    while (sink.write(line)) accepted += 1;
    expect(accepted).toBe(MAX_UNWRITTEN_BYTES / 1024);
    expect(MAX_UNWRITTEN_BYTES).toBe(8 * 1024 * 1024);
    while (sink.write(line, true)) accepted += 1;
    expect(sink.unwrittenBytes).toBe(9 * 1024 * 1024);
  });

  it('keeps its reserve for lines that end something', () => {
    const sink = new StreamSink(new HandStream(), { maxUnwrittenBytes: 10, reserveBytes: 5 });
    sink.write('123456789');
    expect(sink.write('no')).toBe(false);
    expect(sink.write('end', true)).toBe(true);
    expect(sink.write('end', true)).toBe(false);
  });

  it('tells of a passing error until a later write succeeds', async () => {
    const stream = new HandStream();
    const sink = new StreamSink(stream, { now: () => 42 });
    sink.write('lost');
    await stream.fail('ENOSPC');
    expect(sink.failure).toEqual({ code: 'ENOSPC', at: 42 });
    expect(sink.lostLines).toBe(1);
    expect(sink.write('kept')).toBe(true);
    await stream.succeed();
    expect(sink.failure).toBeUndefined();
    await stream.succeed();
    expect(wholeLines(stream.output)).toEqual(['kept']);
  });

  it('never glues a line to the half of one that a failed write left behind', async () => {
    const stream = new HandStream();
    const sink = new StreamSink(stream);
    sink.write('{"first":1}');
    await stream.fail('EAGAIN', 5);
    sink.write('{"second":2}');
    await stream.succeed();
    await stream.succeed();
    expect(stream.output).toBe('{"fir\n{"second":2}\n');
  });

  it('risks no line to find out whether the stream works again', async () => {
    const stream = new HandStream();
    const timers = new HandTimers();
    const sink = new StreamSink(stream, { after: timers.after });
    sink.write('lost');
    await stream.arrival();
    sink.write('waits');
    await stream.fail('ENOSPC');
    for (let attempt = 0; attempt < 10; attempt += 1) {
      timers.fire();
      await stream.fail('ENOSPC');
    }
    expect(sink.lostLines).toBe(1);
    timers.fire();
    await stream.succeed();
    await stream.succeed();
    expect(wholeLines(stream.output)).toEqual(['waits']);
  });

  it('tries again by itself, ever more slowly, at most once a second', async () => {
    const stream = new HandStream();
    const timers = new HandTimers();
    const sink = new StreamSink(stream, { after: timers.after });
    sink.write('lost');
    await stream.arrival();
    sink.write('waits');
    await stream.fail('EAGAIN');
    const delays: number[] = [];
    for (let attempt = 0; attempt < 9; attempt += 1) {
      delays.push(...timers.due);
      timers.fire();
      await stream.fail('EAGAIN');
    }
    expect(delays).toEqual([10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
  });

  it.each(['EPIPE', 'ECONNRESET', 'EBADF'])(
    'refuses everything after %s, and gives up what is queued',
    async (code) => {
      const stream = new HandStream();
      const sink = new StreamSink(stream);
      sink.write('first');
      await stream.arrival();
      sink.write('second');
      await stream.fail(code);
      expect(sink.write('third')).toBe(false);
      expect(sink.failure?.code).toBe(code);
      expect(sink.lostLines).toBe(2);
      expect(sink.unwrittenBytes).toBe(0);
      await expect(sink.flush(60_000)).resolves.toBe(true);
    },
  );

  it('comes back when a named pipe has found a new reader', async () => {
    const stream = new HandStream();
    const timers = new HandTimers();
    const sink = new StreamSink(stream, { after: timers.after });
    sink.write('nobody reads');
    await stream.fail('EPIPE');
    expect(sink.write('refused')).toBe(false);
    expect(timers.due).toHaveLength(1);
    timers.fire();
    await stream.succeed();
    expect(sink.failure).toBeUndefined();
    expect(sink.write('read again')).toBe(true);
    await stream.succeed();
    expect(wholeLines(stream.output)).toEqual(['read again']);
  });

  it('survives a stream that is destroyed with a write under way, and asks it nothing more', async () => {
    const stream = new HandStream();
    const timers = new HandTimers();
    const sink = new StreamSink(stream, { after: timers.after });
    sink.write('under way');
    await stream.arrival();
    const flushed = sink.flush(60_000);
    stream.break();
    await expect(flushed).resolves.toBe(false);
    expect(sink.failure?.code).toBe('ERR_STREAM_DESTROYED');
    expect(sink.write('later')).toBe(false);
    expect(timers.due).toHaveLength(0);
  });

  it('refuses lines for a stream that was ended', () => {
    const stream = new HandStream();
    const sink = new StreamSink(stream);
    stream.end();
    expect(sink.write('late')).toBe(false);
  });

  it('does not let an error of the stream end the process', async () => {
    const stream = new HandStream();
    const sink = new StreamSink(stream);
    sink.write('x');
    await stream.fail('EIO');
    // An unlistened 'error' event would throw here.
    expect(stream.emit('error', new Error('later'))).toBe(true);
    expect(sink.failure?.code).toBe('EIO');
  });

  it('flushes what was handed over so far, and waits for nothing that came later', async () => {
    const stream = new HandStream();
    const sink = new StreamSink(stream);
    await expect(sink.flush(0)).resolves.toBe(true);
    sink.write('before');
    await stream.arrival();
    const flushed = sink.flush(60_000);
    sink.write('after');
    await stream.succeed();
    await expect(flushed).resolves.toBe(true);
  });

  it('flushes within its time when the stream never answers', async () => {
    const sink = new StreamSink(new HandStream());
    sink.write('stuck');
    await expect(sink.flush(5)).resolves.toBe(false);
  });

  it('says that a flush failed when a line of it was lost', async () => {
    const stream = new HandStream();
    const sink = new StreamSink(stream);
    sink.write('lost');
    const flushed = sink.flush(60_000);
    await stream.fail('ENOSPC');
    await expect(flushed).resolves.toBe(false);
  });

  it('delivers each accepted line once and whole, or counts it as lost, whatever fails when', async () => {
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({ kind: fc.constant('line' as const), size: fc.integer({ min: 0, max: 40 }) }),
      },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('succeed' as const) }) },
      {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constant('fail' as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('retry' as const) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const stream = new HandStream();
        const timers = new HandTimers();
        const sink = new StreamSink(stream, { maxUnwrittenBytes: 200, reserveBytes: 0, after: timers.after });
        const accepted: string[] = [];
        for (const [index, what] of steps.entries()) {
          if (what.kind === 'line') {
            const line = `<${index}:${'x'.repeat(what.size)}>`;
            if (sink.write(line)) accepted.push(line);
          } else if (what.kind === 'retry') timers.fire();
          await turn();
          if (stream.waiting === 0) continue;
          const chunk = await stream.arrival();
          if (what.kind === 'succeed') await stream.succeed();
          if (what.kind === 'fail') await stream.fail('ENOSPC', Math.floor(what.share * (chunk.length - 1)));
          expect(sink.unwrittenBytes).toBeLessThanOrEqual(200);
        }
        while (sink.unwrittenBytes > 0 || stream.waiting > 0) {
          timers.fire();
          await turn();
          if (stream.waiting > 0) await stream.succeed();
        }
        const arrived = wholeLines(stream.output).filter((line) => /^<\d+:x*>$/.test(line));
        // What failed may be out as well: what is out is in order, whole, and nothing is out twice.
        expect(arrived).toEqual(accepted.filter((line) => arrived.includes(line)));
        expect(new Set(arrived).size).toBe(arrived.length);
        expect(accepted.length - arrived.length).toBeLessThanOrEqual(sink.lostLines);
      }),
      { numRuns: 200 },
    );
  });
});
