import { appendFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CHAOS } from './catalogue.js';
import { prove } from './law.js';
import { Stage, type SourceName } from './stage.js';

/** Run by `npm run chaos`, which prints the table of the rows. */
const source = process.env['CHAOS_SOURCE'] as SourceName;
const rows = process.env['CHAOS_ROWS'] ?? '/dev/null';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.set();
});
afterAll(() => stage.strike());

describe(source, () => {
  it.each(CHAOS[source].map((chaos) => [chaos.name, chaos.phase, chaos] as const))('%s (%s)', async (_n, _p, chaos) => {
    const row = await prove(chaos, stage, stage[source]);
    appendFileSync(rows, `${JSON.stringify(row)}\n`);
    expect(row.misses).toEqual([]);
  });
});
