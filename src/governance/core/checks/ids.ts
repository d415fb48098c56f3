import { error, type Diagnostic } from '../diagnostic.js';
import { ANCHORS } from '../pointer.js';
import type { Check } from './findings.js';

export const checkIds: Check = ({ document }) => [
  ...repeated(document.capabilities, ANCHORS.capabilities, 'capability'),
  ...repeated(document.upstreams ?? [], ANCHORS.upstreams, 'upstream'),
  ...repeated(document.accounts, ANCHORS.accounts, 'account'),
  ...repeated(document.principals.issuers, ANCHORS.issuers, 'issuer'),
];

function repeated(declared: readonly { readonly id: string }[], anchor: string, what: string): readonly Diagnostic[] {
  const first = new Map<string, string>();
  return declared.flatMap(({ id }, index) => {
    const path = `${anchor}/${index}`;
    const earlier = first.get(id);
    if (earlier !== undefined)
      return [
        error('duplicate_id', path, `the ${what} '${id}' is declared twice`, {
          path: earlier,
          note: 'first declared here',
        }),
      ];
    first.set(id, path);
    return [];
  });
}
