import { expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { loadPolicy } from '../../../src/governance/policy-file/load-policy.js';
import { logDiagnostics } from '../../../src/governance/policy-log.js';
import { policyWith, toAna } from '../../support/governed-policy.js';
import { MemoryLog } from '../audit/doubles.js';

it.each([
  ['without the header, by no certificate', ['malla'], false, ['malla']],
  ['with the header, by everybody', ['malla'], true, []],
  ['with two issuers that one header cannot tell apart, by neither', ['malla', 'otra'], true, ['malla', 'otra']],
] as const)('says at the start, with its place, whom nobody is recognised by: %s', (_, declared, header, named) => {
  const policy = policyWith([toAna(['cliente.leer'], 'lector')], (draft) => {
    draft.principals = {
      issuers: [
        ...draft.principals.issuers,
        { id: 'personas', kind: 'oidc', discovery: 'https://id.example/d', audience: 'x' },
        ...declared.map((id) => ({ id, kind: 'mtls' as const })),
      ],
    };
  });
  const log = new MemoryLog();
  const text = stringify(policy, { aliasDuplicateObjects: false });
  logDiagnostics(log, loadPolicy(text, { purpose: 'serve' }), header);
  const said = log.events.filter(({ event }) => event === 'issuer_not_served');
  expect(said.map(({ level, fields }) => [level, fields['issuer'], fields['kind'], fields['pointer']])).toEqual(
    named.map((id, index) => ['WARNING', id, 'mtls', `/principals/issuers/${4 + index}`]),
  );
  for (const { fields } of said) expect(fields).toMatchObject({ line: expect.any(Number), column: expect.any(Number) });
});
