import { describe, expect, it } from '@jest/globals';
import { CallError } from '../../../src/mcp/errors.js';
import { bench, callOf } from './doubles.js';

const NBSP = '\u00a0';
const EN_DASH = '\u2013';
/** Every way of writing one person's number (issue 2, point 6). */
const SPELLINGS = [
  '16760320',
  '16.760.320',
  '16,760,320',
  '16 760 320',
  '16-760-320',
  `16${NBSP}760${NBSP}320`,
  'V16760320',
  'v16760320',
  'V-16760320',
  'V-16.760.320',
  'v-16.760.320',
  `V${EN_DASH}16760320`,
  'V\t16760320',
  'V-16760320-0',
  'J-16760320-2',
  '167603200',
  'RIF J-16760320-2',
  'RIF: J-16.760.320-2',
  'C.I. 16.760.320',
  'CI: V-16760320',
  'maria.perez@example.org',
  'María Pérez',
  '1500000.50',
];

/** The canary without what may stand between its characters. */
const bare = (text: string) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

describe('no identifier, name, e-mail address or balance in any record', () => {
  it.each(SPELLINGS)('%s, wherever it comes from', (canary) => {
    const { trail, sink, elsewhere, clock } = bench();
    const text = `el cliente ${canary} no existe`;
    const throwing = (error: Error) => () => {
      throw error;
    };
    const sketches = [
      { subject: () => canary, input: { identificador: canary } },
      { subject: throwing(new CallError('invalid_identifier', text)) },
      { subject: throwing(new TypeError(text)) },
      { client: canary },
      { client: `cliente ${canary}` },
      { name: 'unknown', subject: () => null, input: { nombre: canary } },
    ];
    for (const sketch of sketches) {
      const endings: unknown[] = [
        { nombre: canary },
        new CallError('not_found', text, { data: { cedula: canary } }),
        new CallError(canary, text),
        new CallError('denied_by_policy', text, { result: 'denied' }),
        Object.assign(new Error(text), { code: canary, detail: text }),
        canary,
      ];
      for (const ending of endings) {
        const call = callOf(sketch);
        const record = trail.begin(call);
        call.journal.part('consultar_cliente', text);
        if (typeof ending === 'object' && !(ending instanceof Error)) record.succeeded(ending);
        else record.failed(ending);
      }
      const aborted = trail.begin(callOf({ ...sketch, signal: AbortSignal.abort(new Error(text)) }));
      aborted.failed(new Error(text));
      trail.begin(callOf(sketch));
    }
    trail.cutOpen('shutdown');
    sink.failure = { code: 'ENOSPC', at: 0 };
    clock.milliseconds += 60_000;
    expect(() => trail.begin(callOf({ subject: () => canary }))).toThrow(CallError);
    expect(sink.records.length).toBeGreaterThan(80);
    const ids = ['timestamp', 'correlation_id', 'identifier', 'key_id'];
    const said = [...sink.records, ...elsewhere.events].flatMap((record) =>
      Object.entries(record).filter(([field]) => !ids.includes(field)),
    );
    expect(bare(JSON.stringify(said))).not.toContain(bare(canary));
    expect(sink.lines.join('\n')).not.toContain(canary);
  });
});
