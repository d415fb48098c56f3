import { describe, expect, it } from '@jest/globals';
import { Reconciler } from '../../../src/cli/reconciliation.js';
import { bench } from './doubles.js';

const list = (correlationId = 'a'.repeat(32)) => ({
  kind: 'tool' as const,
  caller: { credential: 'SENTINELA', client: 'cliente/1.0' },
  code: 'credential_missing',
  correlationId,
  notes: { principal: null, policy_version: '0123456789ab' },
});

describe('a list that was refused', () => {
  it('is one record of the trail, with the id that its caller was told and never with what he presented', () => {
    const { trail, sink } = bench();
    trail.refusedList(list());
    expect(sink.records).toEqual([
      expect.objectContaining({
        message: 'list_refused',
        logger: 'mcp_corp.audit',
        correlation_id: 'a'.repeat(32),
        list: 'tools',
        result: 'denied',
        reason: 'credential_missing',
        principal: null,
        policy_version: '0123456789ab',
        client: 'cliente/1.0',
        replica: 'replica-1',
      }),
    ]);
    expect(JSON.stringify(sink.records)).not.toContain('SENTINELA');
    expect(trail.openCount).toBe(0);
  });

  it('is counted instead of written when there are too many in a minute, and the next record says how many', () => {
    const { trail, sink, clock } = bench();
    for (let n = 0; n < 1_000; n++) trail.refusedList(list());
    expect(sink.records).toHaveLength(60);
    clock.milliseconds += 60_000;
    trail.refusedList(list());
    trail.refusedList(list());
    expect(sink.records.slice(60).map(({ not_written }) => not_written)).toEqual([940, undefined]);
  });

  it('is in the last words of the process when no record has told of it', async () => {
    const { trail, sink } = bench();
    for (let n = 0; n < 61; n++) trail.refusedList(list());
    await trail.flush(1_000);
    await trail.flush(1_000);
    expect(sink.records.slice(60)).toEqual([
      expect.objectContaining({ message: 'list_refusals_not_written', not_written: 1 }),
    ]);
  });

  it('is no call: whoever looks for starts without an end passes over it', () => {
    const { trail, sink } = bench();
    trail.refusedList(list());
    const reconciler = new Reconciler();
    for (const record of sink.records) reconciler.line(JSON.stringify(record));
    expect(reconciler.result()).toMatchObject({ complete: 0, starts_without_end: [], ends_without_start: [] });
  });
});
