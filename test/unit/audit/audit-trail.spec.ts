import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { OpenRecord } from '../../../src/audit/audit-trail.js';
import { Pseudonyms } from '../../../src/audit/pseudonym.js';
import { callContext } from '../../../src/logging/call-context.js';
import { StreamSink } from '../../../src/logging/stream-sink.js';
import type { CallKind } from '../../../src/mcp/call.js';
import { CallCut } from '../../../src/mcp/cancellation.js';
import { CallError } from '../../../src/mcp/errors.js';
import { HandStream } from '../logging/sink-doubles.js';
import { bench, callOf, KEY, type Bench } from './doubles.js';

const refusal = (work: () => unknown): CallError => {
  try {
    work();
  } catch (error) {
    if (error instanceof CallError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
};

describe('the records of a call', () => {
  it('hold the envelope of every line and the fields of the architecture', () => {
    const { trail, sink, clock } = bench();
    const call = callOf({ client: 'claude-ai/0.1.0', traceId: 'f'.repeat(32) });
    const record = trail.begin(call);
    call.journal.touched('postgres');
    clock.milliseconds += 12.3456;
    record.succeeded({});
    const common = {
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/) as unknown,
      level: 'INFO',
      logger: 'mcp_corp.audit',
      service: 'mcp-corp',
      version: '2.0.0',
      environment: 'local',
      correlation_id: call.correlationId,
      trace_id: 'f'.repeat(32),
      tool: 'consultar_cliente',
      identifier: 'hmac-sha256:d847f45a92a6',
      key_id: new Pseudonyms(KEY).fields(null).key_id,
      client: 'claude-ai/0.1.0',
      replica: 'replica-1',
    };
    expect(sink.records).toEqual([
      { ...common, message: 'tool_invocation_started' },
      { ...common, message: 'tool_invocation_completed', duration_ms: 12.3, result: 'success', sources: ['postgres'] },
    ]);
  });

  it.each([
    ['tool', 'tool_invocation', 'tool', 'consultar_cliente'],
    ['resource', 'resource_read', 'resource', 'data://clientes/estados'],
    ['prompt', 'prompt_rendered', 'prompt', 'atencion_cliente'],
  ] as const)('of a %s are %s_started and %s_completed', (kind: CallKind, prefix, field, name) => {
    const { trail, sink } = bench();
    trail.begin(callOf({ kind, name, subject: () => null })).succeeded('text');
    expect(sink.records.map(({ message }) => message)).toEqual([`${prefix}_started`, `${prefix}_completed`]);
    for (const record of sink.records) expect(record).toMatchObject({ [field]: name, identifier: null });
  });

  it('carry the ids of their own call, also when they are written elsewhere', () => {
    const { trail, sink } = bench();
    const call = callOf();
    const record = callContext.run({ correlationId: 'another' }, () => trail.begin(call));
    record.succeeded({});
    expect(sink.records.map((line) => line.correlation_id)).toEqual([call.correlationId, call.correlationId]);
  });

  it('have a null identifier when it cannot be parsed, and the call goes on to fail by itself', () => {
    const { trail, sink } = bench();
    const error = new CallError('invalid_identifier', 'V1676032X no es válido');
    const record = trail.begin(
      callOf({
        subject: () => {
          throw error;
        },
      }),
    );
    record.failed(error);
    expect(sink.records[0]).toMatchObject({ identifier: null });
    expect(sink.records[1]).toMatchObject({ identifier: null, result: 'failure', reason: 'invalid_identifier' });
  });

  it('have both pseudonyms during a rotation', () => {
    const { trail, sink } = bench({ pseudonyms: new Pseudonyms('clave-secreta-de-prueba-b', KEY) });
    trail.begin(callOf()).succeeded({});
    for (const record of sink.records) {
      expect(record).toMatchObject({ identifier_previous: 'hmac-sha256:d847f45a92a6' });
      expect(record.key_id_previous).toBe(new Pseudonyms(KEY).fields(null).key_id);
    }
  });

  it('say how the parts of a composite ended, by code', () => {
    const { trail, sink } = bench();
    const call = callOf({ outcome: () => 'partial' });
    const record = trail.begin(call);
    call.journal.part('consultar_cliente', 'success');
    call.journal.part('consultar_saldo', 'saldo de V16760320 no disponible');
    record.succeeded({});
    expect(sink.records[1]).toMatchObject({
      result: 'partial',
      parts: { consultar_cliente: 'success', consultar_saldo: 'internal_error' },
    });
    expect(sink.records[1]).not.toHaveProperty('reason');
  });

  it('carry the notes of governance, which never replace a field, are bounded and never vanish', () => {
    const { trail, sink } = bench();
    const call = callOf();
    const record = trail.begin(call);
    call.journal.note('principal', 'agente-1');
    call.journal.note('policy_version', 7);
    call.journal.note('result', 'success');
    call.journal.note('grant', 'g'.repeat(10_000));
    record.failed(new CallError('not_granted', 'no', { result: 'denied' }));
    expect(sink.records[1]).toMatchObject({
      principal: 'agente-1',
      policy_version: 7,
      result: 'denied',
      note_result: 'success',
      grant: 'g'.repeat(256),
    });
  });

  it('record the failure of an entry whose own outcome fails', () => {
    const { trail, sink } = bench();
    const record = trail.begin(
      callOf({
        outcome: () => {
          throw new TypeError('V16760320');
        },
      }),
    );
    expect(() => record.succeeded({})).toThrow(TypeError);
    expect(sink.records[1]).toMatchObject({ result: 'failure', reason: 'internal_error' });
  });

  it('are two, whatever happens after the first ending', () => {
    const { trail, sink } = bench();
    const record = trail.begin(callOf());
    record.failed(new CallError('timeout', 'x'));
    record.succeeded({});
    record.failed(new Error('late'));
    trail.cutOpen('shutdown');
    expect(sink.records.map(({ result }) => result)).toEqual([undefined, 'failure']);
  });
});

describe('what shutdown cuts', () => {
  it('is written once as cancelled by shutdown, and its late completion writes nothing', () => {
    const { trail, sink, clock } = bench();
    const [done, cut] = [trail.begin(callOf()), trail.begin(callOf())];
    done.succeeded({});
    expect(trail.openCount).toBe(1);
    clock.milliseconds += 5_000;
    expect(trail.cutOpen('shutdown')).toBe(1);
    expect(trail.cutOpen('shutdown')).toBe(0);
    cut.succeeded({});
    expect(sink.records).toHaveLength(4);
    expect(sink.records[3]).toMatchObject({ result: 'cancelled', reason: 'shutdown', duration_ms: 5000 });
    expect(trail.openCount).toBe(0);
  });

  it('is a failure when the process crashed', () => {
    const { trail, sink } = bench();
    trail.begin(callOf());
    trail.cutOpen('internal_error');
    expect(sink.records[1]).toMatchObject({ result: 'failure', reason: 'internal_error' });
  });

  it('leaves no door open: a call that comes after it is refused and not begun', () => {
    const { trail, sink } = bench();
    trail.cutOpen('shutdown');
    expect(refusal(() => trail.begin(callOf())).code).toBe('shutdown');
    expect(sink.records).toHaveLength(0);
  });
});

describe('a trail that cannot be written', () => {
  const cases: [string, (b: Bench) => void][] = [
    ['its sink has failed', ({ sink }) => (sink.failure = { code: 'ENOSPC', at: 0 })],
    ['its bound is exceeded', ({ sink }) => (sink.full = true)],
  ];

  it.each(cases)('refuses new calls in production when %s', (_why, spoil) => {
    const b = bench();
    spoil(b);
    const error = refusal(() => b.trail.begin(callOf()));
    expect(error).toMatchObject({ code: 'audit_unavailable', result: 'failure' });
    expect(error.message).toMatch(/auditoría/);
    expect(b.trail.openCount).toBe(0);
    expect(b.gap.refusedCalls).toBe(1);
    expect(b.sink.records.filter(({ message }) => String(message).endsWith('_started'))).toHaveLength(0);
    expect(b.elsewhere.events).toMatchObject([
      { level: 'ERROR', event: 'audit_unavailable', fields: { refused_calls: 1 } },
    ]);
  });

  it('never computes a pseudonym for a call that a failed sink refuses', () => {
    const { trail, sink } = bench();
    sink.failure = { code: 'EPIPE', at: 0 };
    const subject = () => {
      throw new Error('asked');
    };
    expect(refusal(() => trail.begin(callOf({ subject }))).code).toBe('audit_unavailable');
  });

  it('lets calls go on outside production, and counts and tells the loss', () => {
    const { trail, sink, gap, elsewhere } = bench({ production: false });
    sink.full = true;
    sink.reserveFull = true;
    trail.begin(callOf()).succeeded({});
    expect(gap.lostRecords).toBe(2);
    expect(gap.refusedCalls).toBe(0);
    expect(elsewhere.events).toHaveLength(1);
  });

  it('writes the end of what began from the reserve, although the bound is exceeded', () => {
    const { trail, sink } = bench();
    const record = trail.begin(callOf());
    sink.full = true;
    record.succeeded({});
    expect(sink.records[1]).toMatchObject({ message: 'tool_invocation_completed', result: 'success' });
    expect(sink.reserved).toEqual([false, true]);
  });

  it('counts an end that not even the reserve holds', () => {
    const { trail, sink, gap } = bench();
    const record = trail.begin(callOf());
    sink.reserveFull = true;
    record.succeeded({});
    expect(gap.lostRecords).toBe(1);
    expect(trail.openCount).toBe(0);
  });

  it('tells it at most once a second, and what is left at the end', async () => {
    const { trail, sink, clock, elsewhere } = bench();
    sink.full = true;
    for (let i = 0; i < 100; i += 1) {
      refusal(() => trail.begin(callOf()));
      clock.milliseconds += 25;
    }
    expect(elsewhere.events.map(({ fields }) => fields.refused_calls)).toEqual([1, 41, 81]);
    await trail.flush(2_000);
    expect(elsewhere.events.at(-1)?.fields).toMatchObject({ refused_calls: 100, lost_records: 0 });
    expect(elsewhere.events).toHaveLength(4);
  });

  it('tells nothing at the end when everything is told and confirmed', async () => {
    const { trail, sink, elsewhere } = bench();
    trail.begin(callOf()).succeeded({});
    await expect(trail.flush(2_000)).resolves.toBe(true);
    expect(sink.flushedWithin).toEqual([2_000]);
    expect(elsewhere.events).toHaveLength(0);
  });

  it('tells at the end that records could not be confirmed', async () => {
    const { trail, sink, elsewhere } = bench();
    trail.begin(callOf()).succeeded({});
    sink.confirms = false;
    sink.unwrittenBytes = 700;
    await expect(trail.flush(2_000)).resolves.toBe(false);
    expect(elsewhere.events).toMatchObject([{ event: 'audit_unavailable', fields: { unwritten_bytes: 700 } }]);
  });

  it('shows its hole in the trail itself, once it can be written again', () => {
    const { trail, sink, clock } = bench();
    sink.full = true;
    refusal(() => trail.begin(callOf()));
    refusal(() => trail.begin(callOf()));
    sink.full = false;
    clock.milliseconds += 1_000;
    trail.begin(callOf()).succeeded({});
    trail.begin(callOf()).succeeded({});
    expect(sink.records.map(({ message }) => message)).toEqual([
      'audit_trail_interrupted',
      'tool_invocation_started',
      'tool_invocation_completed',
      'tool_invocation_started',
      'tool_invocation_completed',
    ]);
    expect(sink.records[0]).toMatchObject({ refused_calls: 2, lost_records: 0, lost_lines: 0 });
    expect(sink.records[0]).not.toHaveProperty('correlation_id');
  });

  it('notices lines that the sink accepted and lost', () => {
    const { trail, sink, elsewhere } = bench();
    trail.begin(callOf()).succeeded({});
    sink.lostLines = 2;
    trail.begin(callOf());
    expect(elsewhere.events).toMatchObject([{ event: 'audit_unavailable', fields: { lost_lines: 2 } }]);
    expect(sink.records[2]).toMatchObject({ message: 'audit_trail_interrupted', lost_lines: 2 });
  });

  it('leaves a failed sink that still holds lines alone: it tries again by itself', () => {
    const { trail, sink, clock } = bench();
    sink.failure = { code: 'ENOSPC', at: 0 };
    sink.unwrittenBytes = 500;
    for (let i = 0; i < 5; i += 1) {
      refusal(() => trail.begin(callOf()));
      clock.milliseconds += 1_000;
    }
    expect(sink.records).toHaveLength(0);
    sink.unwrittenBytes = 0;
    refusal(() => trail.begin(callOf()));
    expect(sink.records).toMatchObject([{ message: 'audit_trail_interrupted', refused_calls: 5 }]);
  });

  it('serves again by itself after a real stream has failed and works again', async () => {
    const stream = new HandStream();
    const b = bench();
    const lines = new StreamSink(stream);
    const { trail, clock } = bench({ sink: lines, gap: b.gap });
    trail.begin(callOf()).succeeded({});
    await stream.fail('ENOSPC');
    expect(refusal(() => trail.begin(callOf())).code).toBe('audit_unavailable');
    // The note of the hole is the attempt: first the new line, then the note.
    await stream.succeed();
    await stream.succeed();
    clock.milliseconds += 1_000;
    trail.begin(callOf()).succeeded({});
    await stream.succeed();
    const records = stream.output.split('\n').filter((line) => line !== '');
    expect(records.map((line) => (JSON.parse(line) as { message: string }).message)).toEqual([
      'audit_trail_interrupted',
      'tool_invocation_started',
      'tool_invocation_completed',
    ]);
    expect(b.elsewhere.events.length).toBeGreaterThan(0);
  });
});

describe('exactly one start and one end', () => {
  it('holds for every interleaving of starts, endings, aborts and a shutdown cut', () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.constant({ kind: 'start' as const, pick: 0 }) },
      {
        weight: 6,
        arbitrary: fc.record({
          kind: fc.constantFrom('success', 'partial', 'fail', 'deny', 'crash', 'abort', 'abort-shutdown'),
          pick: fc.nat(),
        }),
      },
      { weight: 1, arbitrary: fc.constant({ kind: 'cut' as const, pick: 0 }) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const { trail, sink } = bench();
        const calls: { id: string; record: OpenRecord; abort: AbortController; partial: { now: boolean } }[] = [];
        let refused = 0;
        for (const { kind, pick } of steps) {
          const chosen = calls[pick % Math.max(1, calls.length)];
          if (kind === 'start') {
            const abort = new AbortController();
            const partial = { now: false };
            const call = callOf({ signal: abort.signal, outcome: () => (partial.now ? 'partial' : 'success') });
            try {
              calls.push({ id: call.correlationId, record: trail.begin(call), abort, partial });
            } catch {
              refused += 1;
            }
          } else if (kind === 'cut') trail.cutOpen('shutdown');
          else if (chosen !== undefined) {
            const { record, abort, partial } = chosen;
            if (kind === 'abort') abort.abort();
            if (kind === 'abort-shutdown') abort.abort(new CallCut('shutdown'));
            partial.now = kind === 'partial';
            if (kind === 'success' || kind === 'partial') record.succeeded({});
            if (kind === 'fail') record.failed(new CallError('timeout', 'x'));
            if (kind === 'deny') record.failed(new CallError('not_granted', 'x', { result: 'denied' }));
            if (kind === 'crash') record.failed(new Error('x'));
          }
        }
        trail.cutOpen('shutdown');
        expect(trail.openCount).toBe(0);
        const events = (id: string, suffix: string) =>
          sink.records.filter((line) => line.correlation_id === id && String(line.message).endsWith(suffix));
        for (const { id } of calls) {
          expect(events(id, '_started')).toHaveLength(1);
          expect(events(id, '_completed')).toHaveLength(1);
        }
        expect(sink.records).toHaveLength(calls.length * 2);
        expect(calls.length + refused).toBe(steps.filter(({ kind }) => kind === 'start').length);
      }),
      { numRuns: 500 },
    );
  });
});
