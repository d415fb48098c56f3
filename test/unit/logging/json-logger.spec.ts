import { describe, expect, it } from '@jest/globals';
import { Injectable, Logger, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { JsonLogger } from '../../../src/logging/json-logger.js';
import { LoggingModule } from '../../../src/logging/logging.module.js';
import { MemorySink } from './memory-sink.js';

function logger(level = 'INFO') {
  const sink = new MemorySink();
  const log = new JsonLogger({ sink, level, service: 's', version: 'v', environment: 'local' });
  return { sink, log };
}

describe('an event log', () => {
  it('writes under its name, with Python’s levels', () => {
    const { sink, log } = logger('DEBUG');
    const events = log.eventLog('mcp_corp.tools');
    events.debug('a');
    events.info('b', { n: 1 });
    events.warning('c');
    events.error('d', {}, new Error('x'));
    expect(sink.records.map(({ level, logger: name, message }) => [level, name, message])).toEqual([
      ['DEBUG', 'mcp_corp.tools', 'a'],
      ['INFO', 'mcp_corp.tools', 'b'],
      ['WARNING', 'mcp_corp.tools', 'c'],
      ['ERROR', 'mcp_corp.tools', 'd'],
    ]);
    expect(sink.last.exception).toMatch(/^Error: x/);
  });

  it.each([
    ['DEBUG', ['DEBUG', 'INFO', 'WARNING', 'ERROR']],
    ['NOTSET', ['DEBUG', 'INFO', 'WARNING', 'ERROR']],
    ['INFO', ['INFO', 'WARNING', 'ERROR']],
    ['WARN', ['WARNING', 'ERROR']],
    ['ERROR', ['ERROR']],
    ['FATAL', []],
  ])('at level %s writes %j', (level, written) => {
    const { sink, log } = logger(level);
    const events = log.eventLog('x');
    events.debug('e');
    events.info('e');
    events.warning('e');
    events.error('e');
    expect(sink.records.map((record) => record.level)).toEqual(written);
  });

  it('does not exist at an unknown level', () => {
    expect(() => logger('VERBOSE')).toThrow('not the name of a log level');
    expect(() => logger('constructor')).toThrow('not the name of a log level');
  });

  it('tells how many lines were refused, once lines are taken again', () => {
    const { sink, log } = logger();
    const events = log.eventLog('x');
    sink.refusing = true;
    events.info('lost');
    events.info('lost');
    sink.refusing = false;
    events.info('kept');
    expect(sink.records.map(({ message, lines }) => [message, lines])).toEqual([
      ['kept', undefined],
      ['log_lines_refused', 2],
    ]);
  });

  it('gives the line for another sink, always, whatever the level', () => {
    const { log } = logger('CRITICAL');
    const line = log.format('INFO', 'mcp_corp.audit', 'tool_invocation_started', { tool: 't' }, { correlationId: 'c' });
    expect(JSON.parse(line)).toMatchObject({ logger: 'mcp_corp.audit', correlation_id: 'c', tool: 't', service: 's' });
  });
});

describe('Nest’s own logs', () => {
  it('are lines of the same form, named after their context', () => {
    const { sink, log } = logger('DEBUG');
    log.log('Nest application successfully started', 'NestApplication');
    log.warn('careful', 'Some context with blanks');
    log.verbose('v');
    log.debug('d');
    log.fatal('f');
    expect(sink.records.map(({ level, logger: name, message }) => [level, name, message])).toEqual([
      ['DEBUG', 'nest.NestApplication', 'Nest application successfully started'],
      ['WARNING', 'nest', 'careful'],
      ['DEBUG', 'nest', 'v'],
      ['DEBUG', 'nest', 'd'],
      ['CRITICAL', 'nest', 'f'],
    ]);
  });

  it('obey the level', () => {
    const { sink, log } = logger('WARNING');
    log.log('Starting Nest application...', 'NestFactory');
    log.debug('d');
    log.verbose('v');
    expect(sink.lines).toEqual([]);
  });

  it('lose the values in their texts, their errors and their stacks', () => {
    const { sink, log } = logger();
    const error = new Error('row "María" of V16760320');
    log.error(error, 'ExceptionsHandler');
    log.error('row "María" of V16760320', error.stack, 'ExceptionsHandler');
    log.error('failed', error);
    expect(sink.lines.join('\n')).not.toMatch(/María|16760320/);
    expect(sink.records[0]).toMatchObject({ logger: 'nest.ExceptionsHandler', message: 'framework_error' });
    expect(sink.records[0]?.exception).toMatch(/^Error: row \[value\] of \[digits\]\n {4}at /);
    expect(sink.records[1]).toMatchObject({ message: 'row [value] of [digits]' });
    expect(sink.records[1]?.frames).toEqual(expect.arrayContaining([expect.stringContaining('json-logger.spec.ts')]));
    expect(sink.records[2]?.exception).toMatch(/^Error: row/);
  });

  it('that are objects or classes are fields', () => {
    const { sink, log } = logger('DEBUG');
    log.log({ port: 1 });
    log.log(MemorySink);
    expect(sink.records.map(({ message, detail }) => [message, detail])).toEqual([
      ['framework_message', { port: 1 }],
      ['framework_message', 'MemorySink'],
    ]);
  });

  it('come through Nest’s static Logger too, and the module gives the logger to everybody', async () => {
    @Injectable()
    class Speaker {
      constructor(readonly log: JsonLogger) {}
    }
    @Module({ providers: [Speaker] })
    class SpeakerModule {}
    const { sink, log } = logger();
    const nest = await Test.createTestingModule({ imports: [LoggingModule.register(log), SpeakerModule] })
      .setLogger(log)
      .compile();
    new Logger('Somebody').warn('careful');
    expect(sink.last).toMatchObject({ level: 'WARNING', logger: 'nest.Somebody', message: 'careful' });
    expect(nest.get(Speaker, { strict: false }).log).toBe(log);
    await nest.close();
    Logger.overrideLogger(false);
  });
});
