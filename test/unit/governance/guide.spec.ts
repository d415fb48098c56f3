import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { governable } from '../../../src/app.module.js';
import { ARTEFACT_SCHEMA } from '../../../src/governance/policy-file/artefact-schema.js';
import { loadPolicy } from '../../../src/governance/policy-file/load-policy.js';

const read = (path: string): string => readFileSync(join(import.meta.dirname, '../../..', path), 'utf8');
const policy = read('examples/policy/policy.yaml');
/** Without the indentation, which a fragment has another of. */
const lines = (text: string): string => text.replaceAll(/^ +/gm, '');

describe('the guide of governance', () => {
  const pieces = [...read('docs/governance.md').matchAll(/^```yaml\n(.*?)^```/gms)].map(([, piece = '']) => piece);

  it('has the pieces that this test looks at', () => {
    expect(pieces.length).toBeGreaterThanOrEqual(7);
  });

  it.each(pieces)('shows what the example says:\n%s', (piece) => {
    expect(lines(policy)).toContain(lines(piece));
  });

  it('has an example without a single finding, for a server that is to serve it', () => {
    const { diagnostics } = loadPolicy(policy, { catalogue: { local: governable() }, purpose: 'serve' });
    expect(diagnostics).toEqual([]);
  });

  it('has the schema that the program checks with', () => {
    expect(JSON.parse(read('examples/policy/policy.schema.json'))).toEqual(ARTEFACT_SCHEMA);
  });
});
