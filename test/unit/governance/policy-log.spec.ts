import { expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { loadPolicy } from '../../../src/governance/policy-file/load-policy.js';
import { logDiagnostics } from '../../../src/governance/policy-log.js';
import { policyWith, toAna } from '../../support/governed-policy.js';
import { MemoryLog } from '../audit/doubles.js';

it('says at the start, with its place, that nobody is recognised by certificates while no header is named', () => {
  const policy = policyWith([toAna(['cliente.leer'], 'lector')], (draft) => {
    draft.principals = {
      issuers: [
        ...draft.principals.issuers,
        { id: 'personas', kind: 'oidc', discovery: 'https://id.example/d', audience: 'x' },
        { id: 'malla', kind: 'mtls' },
      ],
    };
  });
  const log = new MemoryLog();
  logDiagnostics(log, loadPolicy(stringify(policy, { aliasDuplicateObjects: false }), { purpose: 'serve' }));
  const said = log.events.filter(({ event }) => event === 'issuer_not_served');
  expect(said.map(({ level, fields }) => [level, fields['issuer'], fields['kind'], fields['pointer']])).toEqual([
    ['WARNING', 'malla', 'mtls', '/principals/issuers/4'],
  ]);
  for (const { fields } of said) expect(fields).toMatchObject({ line: expect.any(Number), column: expect.any(Number) });
});
