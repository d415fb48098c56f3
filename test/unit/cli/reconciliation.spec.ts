import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { RECORDS } from '../../../src/audit/audit-record.js';
import { eachLine } from '../../../src/cli/lines.js';
import { AUDIT_EVENTS, isWhole, Reconciler, TooManyUnmatched } from '../../../src/cli/reconciliation.js';

const started = (id: string, replica = 'r1') =>
  JSON.stringify({ timestamp: 't', message: 'tool_invocation_started', correlation_id: id, tool: 'saldo', replica });
const completed = (id: string, replica = 'r1') =>
  JSON.stringify({ timestamp: 't', message: 'tool_invocation_completed', correlation_id: id, tool: 'saldo', replica });

function reconciled(...lines: string[]) {
  const reconciler = new Reconciler();
  for (const line of lines) reconciler.line(line);
  return reconciler.result();
}

describe('the reconciliation of an audit trail', () => {
  it('knows the records by the very names under which the audit writes them', () => {
    const written = Object.values(RECORDS).flatMap(({ started: start, completed: end, field }) => [
      [start, { ends: false, field }],
      [end, { ends: true, field }],
    ]);
    expect([...AUDIT_EVENTS]).toEqual(written);
  });

  it('names a start without its end, by correlation id, tool and replica', () => {
    const result = reconciled(started('a'), started('b', 'r2'), completed('a'));
    expect(result.complete).toBe(1);
    expect(result.starts_without_end).toEqual([{ correlation_id: 'b', tool: 'saldo', replica: 'r2', timestamp: 't' }]);
    expect(result.ends_without_start).toEqual([]);
    expect(isWhole(result)).toBe(false);
  });

  it('names an end without its start', () => {
    const result = reconciled(completed('a'));
    expect(result.ends_without_start).toMatchObject([{ correlation_id: 'a' }]);
    expect(isWhole(result)).toBe(false);
  });

  it('names the second start and the second end of one call', () => {
    const result = reconciled(started('a'), completed('a'), completed('a'), started('b'), started('b'), completed('b'));
    expect(result.complete).toBe(2);
    expect(result.ends_without_start).toMatchObject([{ correlation_id: 'a' }]);
    expect(result.starts_without_end).toMatchObject([{ correlation_id: 'b' }]);
  });

  it('pairs records of resources and prompts too, in any order of the files', () => {
    const of = (message: string, field: string, id: string) =>
      JSON.stringify({ message, correlation_id: id, [field]: 'x' });
    const result = reconciled(
      of('resource_read_completed', 'resource', 'a'),
      of('prompt_rendered_started', 'prompt', 'b'),
      of('prompt_rendered_completed', 'prompt', 'b'),
      of('resource_read_started', 'resource', 'a'),
    );
    expect(result).toMatchObject({ complete: 2, starts_without_end: [], ends_without_start: [] });
    expect(isWhole(result)).toBe(true);
  });

  it('passes over other lines, and what a container platform puts before the object', () => {
    const result = reconciled(
      '{"message":"startup_complete"}',
      `2026-11-30T12:00:00Z stdout F ${started('a')}`,
      completed('a'),
      '',
    );
    expect(result).toMatchObject({ complete: 1, unreadable_lines: 0 });
  });

  it('counts what nobody can read: half a line of a killed process, and text', () => {
    const result = reconciled(started('a'), completed('a').slice(0, 60), 'Killed');
    expect(result).toMatchObject({ complete: 0, unreadable_lines: 2 });
    expect(result.starts_without_end).toHaveLength(1);
  });

  it('believes a trail that says of itself that it has a hole', () => {
    const note = (fields: object) => JSON.stringify({ message: 'audit_trail_interrupted', ...fields });
    expect(isWhole(reconciled(note({ lost_records: 2, lost_lines: 0 })))).toBe(false);
    expect(isWhole(reconciled(note({ lost_records: 0, lost_lines: 3 })))).toBe(false);
    // Calls that were refused have not been carried out: nothing is missing.
    expect(isWhole(reconciled(note({ lost_records: 0, lost_lines: 0, refused_calls: 9 })))).toBe(true);
  });

  it('shows no control characters of a line that somebody has forged', () => {
    const [record] = reconciled(started('a', '\u001b[2Jr1')).starts_without_end;
    expect(record?.replica).toBe('?[2Jr1');
  });

  it('gives up when more is unmatched than it may keep, and forgets what is matched', () => {
    const reconciler = new Reconciler(2);
    for (const id of ['a', 'b', 'c', 'd']) {
      reconciler.line(started(id));
      reconciler.line(completed(id));
    }
    reconciler.line(started('e'));
    reconciler.line(started('f'));
    expect(() => reconciler.line(started('g'))).toThrow(TooManyUnmatched);
  });

  it('finds exactly the records that are missing, whichever they are and in whatever order the rest comes', () => {
    const call = fc.record({ start: fc.boolean(), end: fc.boolean() });
    fc.assert(
      fc.property(fc.array(call, { maxLength: 40 }), fc.infiniteStream(fc.nat()), (calls, order) => {
        const lines = calls.flatMap(({ start, end }, index) => [
          ...(start ? [started(String(index))] : []),
          ...(end ? [completed(String(index))] : []),
        ]);
        const ranks = new Map(lines.map((line) => [line, order.next().value]));
        const result = reconciled(...lines.toSorted((a, b) => (ranks.get(a) ?? 0) - (ranks.get(b) ?? 0)));
        const ids = (missing: 'start' | 'end') =>
          calls.flatMap((made, index) =>
            !made[missing] && made[missing === 'start' ? 'end' : 'start'] ? [String(index)] : [],
          );
        const named = (records: readonly { correlation_id: string }[]) =>
          records.map((record) => record.correlation_id).toSorted();
        expect(named(result.starts_without_end)).toEqual(ids('end').toSorted());
        expect(named(result.ends_without_start)).toEqual(ids('start').toSorted());
        expect(result.complete).toBe(calls.filter(({ start, end }) => start && end).length);
      }),
    );
  });
});

describe('reading lines', () => {
  async function read(...chunks: (string | Uint8Array)[]) {
    const lines: string[] = [];
    let skipped = 0;
    await eachLine(
      (async function* () {
        yield* chunks;
      })(),
      (line) => lines.push(line),
      () => (skipped += 1),
    );
    return { lines, skipped };
  }

  it('joins what chunks have torn, characters included, and takes a last line without its newline', async () => {
    const bytes = Buffer.from('uno\ncañón\n\ntres');
    const torn = Array.from(bytes, (byte) => Uint8Array.of(byte));
    expect(await read(...torn)).toEqual({ lines: ['uno', 'cañón', '', 'tres'], skipped: 0 });
  });

  it('passes over a line without an end instead of keeping it, and goes on after it', async () => {
    const long = 'x'.repeat(50_000);
    expect(await read(long, long, long, '\ndos\n')).toEqual({ lines: ['dos'], skipped: 1 });
    expect(await read('uno\n', long, long)).toEqual({ lines: ['uno'], skipped: 1 });
  });
});
