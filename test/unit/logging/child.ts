import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import swc from '@swc/core';

const SOURCES = path.resolve(import.meta.dirname, '../../../src/logging');

/** The sinks as JavaScript in `folder`, so that a process of its own can load them. */
export function buildSinks(folder: string): void {
  fs.writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}');
  for (const name of fs.readdirSync(SOURCES).filter((file) => file.endsWith('-sink.ts'))) {
    const { code } = swc.transformFileSync(path.join(SOURCES, name), {
      swcrc: false,
      jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
      module: { type: 'es6' },
    });
    fs.writeFileSync(path.join(folder, name.replace(/ts$/, 'js')), code);
  }
}

/** Runs `program` (ES module text) with the sinks beside it; `first` is what its shell does before it becomes the program. */
export function runChild(folder: string, program: string, stdio: StdioOptions, first = ':'): ChildProcess {
  const file = path.join(folder, 'program.js');
  fs.writeFileSync(file, `import { standardSink } from './standard-sink.js';\n${program}`);
  return spawn('/bin/sh', ['-c', `${first}; exec "$0" "$1"`, process.execPath, file], { stdio });
}

export function exitOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.once('close', resolve));
}
