import fs from 'node:fs';
import tty from 'node:tty';
import type { SinkOptions } from './batched-sink.js';
import { FileSink } from './file-sink.js';
import type { LineSink } from './line-sink.js';
import { StreamSink } from './stream-sink.js';

/**
 * The sink of stdout or stderr, by what it is: a pipe, a socket or a terminal is a stream, everything else (a file, a
 * device) is written through its descriptor. Make one per process and descriptor: order and bound are per sink.
 */
export function standardSink(name: 'stdout' | 'stderr', options: SinkOptions = {}): LineSink {
  const descriptor = name === 'stdout' ? 1 : 2;
  const stats = fs.fstatSync(descriptor);
  if (stats.isFIFO() || stats.isSocket() || tty.isatty(descriptor)) return new StreamSink(process[name], options);
  return FileSink.over(descriptor, options);
}
