import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CHAOS } from '../chaos/catalogue.js';
import { prove } from '../chaos/law.js';
import { Stage } from '../chaos/stage.js';

/** Of `npm run chaos` what tells most in the least time: under a minute in all. */
let stage: Stage;
beforeAll(async () => {
  stage = await Stage.set();
});
afterAll(() => stage.strike());

describe.each(['postgres', 'saldo_api'] as const)('%s', (source) => {
  const brief = CHAOS[source].filter((chaos) => chaos.brief);
  it.each(brief.map((chaos) => [chaos.name, chaos.phase, chaos] as const))(
    '%s (%s)',
    async (_n, _p, chaos) => {
      expect((await prove(chaos, stage, stage[source])).misses).toEqual([]);
    },
    60_000,
  );
});
