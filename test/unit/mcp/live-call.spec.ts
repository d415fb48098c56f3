import { describe, expect, it } from '@jest/globals';
import type { CompiledEntry } from '../../../src/mcp/catalogue-entry.js';
import { Exchange } from '../../../src/mcp/exchange.js';
import { LiveCall } from '../../../src/mcp/live-call.js';

function call(subject: CompiledEntry['subject'] = () => null): LiveCall {
  const entry: CompiledEntry = {
    kind: 'tool',
    name: 'compuesta',
    definition: {},
    requires: [],
    parts: ['parte'],
    outcome: () => 'success',
    subject,
    validate: (input) => input,
    run: async () => ({}),
  };
  return new LiveCall(entry, { id: 'crudo' }, { exchange: new Exchange(() => undefined), caller: { credential: '' } });
}

describe('a call', () => {
  it('has a correlation id of 32 hex digits, never the same', () => {
    const ids = Array.from({ length: 1000 }, () => call().correlationId);
    expect(ids.every((id) => /^[0-9a-f]{32}$/.test(id))).toBe(true);
    expect(new Set(ids).size).toBe(1000);
  });

  it('computes its subject once, from the raw arguments, also after they were replaced', () => {
    const seen: unknown[] = [];
    const one = call((input) => {
      seen.push(input);
      return 'V1';
    });
    one.input = { id: 'validado' };
    expect([one.subject(), one.subject()]).toEqual(['V1', 'V1']);
    expect(seen).toEqual([{ id: 'crudo' }]);
  });

  it('throws the same refusal each time it is asked for a subject that cannot be parsed', () => {
    let times = 0;
    const refusal = new Error('no');
    const one = call(() => {
      times++;
      throw refusal;
    });
    expect(() => one.subject()).toThrow(refusal);
    expect(() => one.subject()).toThrow(refusal);
    expect(times).toBe(1);
  });

  it('is open without grants, and refuses what its grants do not name', () => {
    const one = call();
    expect([one.part(), one.part('parte')]).toEqual([{ allowed: true }, { allowed: true }]);
    one.grants = new Map([['parte', { allowed: true, accounts: new Map([['postgres', { key: 'k', secret: 's' }]]) }]]);
    expect([one.part(), one.part('parte').allowed, one.part('otra')]).toEqual([
      { allowed: false },
      true,
      { allowed: false },
    ]);
    expect(one.options('postgres', 'parte').account).toEqual({ key: 'k', secret: 's' });
    expect(() => one.options('saldo_api', 'parte')).toThrow('no account');
    expect(() => one.options('postgres')).toThrow('not allowed');
    expect(() => one.options('postgres', 'otra')).toThrow('not allowed');
  });

  it('gives a source its signal, or the one it is told, and hears that the source was used', () => {
    const one = call();
    const other = new AbortController().signal;
    expect(one.options('postgres').signal).toBe(one.signal);
    expect(one.options('postgres', undefined, other).signal).toBe(other);
    one.options('saldo_api').touched();
    one.options('saldo_api').touched();
    one.options('postgres').touched();
    expect(one.journal.sources).toEqual(['saldo_api', 'postgres']);
  });

  it('keeps what the steps write into its journal', () => {
    const { journal } = call();
    expect([journal.sources, journal.parts, journal.notes]).toEqual([[], {}, {}]);
    journal.part('consultar_saldo', 'timeout');
    journal.note('principal', 'ana');
    expect([journal.parts, journal.notes]).toEqual([{ consultar_saldo: 'timeout' }, { principal: 'ana' }]);
  });
});
