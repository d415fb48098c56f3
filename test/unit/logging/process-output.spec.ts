import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import swc from '@swc/core';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const ROOT = resolve(import.meta.dirname, '../../..');
let folder: string;

/** The logging folder as JavaScript, so that a process of its own can be armed. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'output-'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  mkdirSync(join(folder, 'src'));
  const sources = join(ROOT, 'src/logging');
  for (const name of readdirSync(sources)) {
    const { code } = swc.transformFileSync(join(sources, name), {
      swcrc: false,
      jsc: {
        target: 'es2023',
        parser: { syntax: 'typescript', decorators: true },
        transform: { legacyDecorator: true, decoratorMetadata: true },
      },
      module: { type: 'es6' },
    });
    writeFileSync(join(folder, 'src', name.replace(/ts$/, 'js')), code);
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

function run(program: string) {
  const file = join(folder, 'src', 'program.js');
  writeFileSync(
    file,
    `import { JsonLogger } from './json-logger.js';
     import { armProcessOutput } from './process-output.js';
     import { standardSink } from './standard-sink.js';
     const sink = standardSink('stdout');
     const loggerOf = (service) => new JsonLogger({ sink, level: 'DEBUG', service, version: 'v', environment: 'local' });
     const logger = loggerOf('bootstrap');
     const output = armProcessOutput({
       logger,
       onFatal: (event) => void logger.flush(2000).then(() => process.exit(70)),
     });
     ${program}`,
  );
  const { stdout, stderr, status } = spawnSync(process.execPath, [file], { encoding: 'utf8', timeout: 20_000 });
  const lines = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { lines, stdout, stderr, status };
}

describe('an armed process', () => {
  it('turns console into lines and names objects only', () => {
    const { lines, stderr, status } = run(`
      console.log('hello', 1, { nombre: 'María' }, [1]);
      console.warn('for user "ana"');
      console.error(new Error('clave "x"'));
      console.assert(true, 'silent');
      console.assert(false, 'spoken');
      console.table([{ nombre: 'María' }]);
      console.dir({ nombre: 'María' });
      console.trace('t');
    `);
    expect([stderr, status]).toEqual(['', 0]);
    expect(lines.map(({ level, message, detail }) => [level, message, detail])).toEqual([
      ['INFO', 'console_output', 'hello 1 [Object] [Array]'],
      ['WARNING', 'console_output', 'for user [value]'],
      ['ERROR', 'console_output', '[Error]'],
      ['WARNING', 'console_output', 'spoken'],
      ['INFO', 'console_output', '[Array]'],
      ['INFO', 'console_output', '[Object]'],
      ['ERROR', 'console_output', 't'],
    ]);
    expect(lines[2]?.exception).toMatch(/^Error: clave \[value\]/);
  });

  it('turns Node’s warnings into lines, and nothing reaches stderr', () => {
    const { lines, stderr, status } = run(`
      process.emitWarning('old "thing" of db.interna', 'DeprecationWarning', 'DEP9999');
      const { EventEmitter } = await import('node:events');
      const emitter = new EventEmitter();
      for (let n = 0; n < 12; n += 1) emitter.on('x', () => {});
    `);
    expect([stderr, status]).toEqual(['', 0]);
    expect(lines).toEqual([
      expect.objectContaining({
        level: 'WARNING',
        logger: 'node',
        message: 'process_warning',
        warning: 'DeprecationWarning',
        code: 'DEP9999',
        detail: 'old [value] of [host]',
      }),
      expect.objectContaining({ message: 'process_warning', warning: 'MaxListenersExceededWarning' }),
    ]);
  });

  it.each([
    ['uncaught_exception', `setImmediate(() => { throw new TypeError('fila "María"'); });`],
    ['unhandled_rejection', `void Promise.reject(new TypeError('fila "María"'));`],
  ])('tells an %s as a line, and ends as it was told to', (event, program) => {
    const { lines, stdout, stderr, status } = run(program);
    expect([stderr, status]).toEqual(['', 70]);
    expect(lines).toEqual([expect.objectContaining({ level: 'CRITICAL', message: event })]);
    expect(lines[0]?.exception).toMatch(/^TypeError: fila \[value\]\n {4}at /);
    expect(stdout).not.toContain('María');
  });

  it('ends once, and tells what else fails meanwhile', () => {
    const { lines, status } = run(`
      setImmediate(() => { throw new Error('first'); });
      setImmediate(() => { throw undefined; });
    `);
    expect(status).toBe(70);
    expect(lines.map(({ exception }) => String(exception).split('\n')[0])).toEqual([
      'Error: first',
      'nothing was thrown',
    ]);
  });

  it('speaks through the configured logger once there is one', () => {
    const { lines } = run(`
      console.log('a');
      output.use(loggerOf('núcleo'));
      console.log('b');
    `);
    expect(lines.map(({ service, detail }) => [service, detail])).toEqual([
      ['bootstrap', 'a'],
      ['núcleo', 'b'],
    ]);
  });

  it('gives everything back when disarmed', () => {
    const file = `
      console.log('line');
      output.disarm();
      await sink.flush(2000);
      console.error('plain');
      process.emitWarning('plain warning');
    `;
    const { lines, stderr } = run(file);
    expect(lines).toHaveLength(1);
    expect(stderr).toMatch(/^plain\n\(node:\d+\) Warning: plain warning/);
  });
});
