import type { Mapping } from '../catalogue.js';
import { error, warning, type Diagnostic } from '../diagnostic.js';
import type { GrantDocument } from '../document.js';
import { namesField } from '../omit.js';
import { pointer } from '../pointer.js';
import type { Check } from './findings.js';

export const checkRealized: Check = ({ document, mappings }) => {
  const realized = new Set(mappings.map(({ capability }) => capability));
  return document.capabilities.flatMap(({ id }, index) =>
    realized.has(id)
      ? []
      : [warning('capability_not_realized', pointer('capabilities', index), `no mapping realises '${id}'`)],
  );
};

/** Do the terms of a grant mean anything for what it opens? Only what the catalogue knows is judged. */
export const checkTerms: Check = ({ document, mappings }) =>
  document.grants.flatMap((grant, index) => {
    const path = pointer('grants', index);
    const opened = mappings.filter((mapping) => grant.capabilities.includes(mapping.capability));
    return [...omissions(grant, path, opened), ...subjects(grant, path, opened)];
  });

/** A misspelt omission would let the field through, so it is an error, not advice. */
function omissions(grant: GrantDocument, path: string, opened: readonly Mapping[]): readonly Diagnostic[] {
  if (grant.omit === undefined || grant.omit.length === 0) return [];
  const known = opened.flatMap(({ item }) => (item === undefined ? [] : [item]));
  const findings: Diagnostic[] = [];
  const schemas = known.flatMap(({ outputFields }) => (outputFields === undefined ? [] : [outputFields]));
  // While some opened entry is not in any catalogue, the field may be one of its own.
  if (known.length === opened.length && known.length > 0)
    for (const [at, field] of grant.omit.entries())
      if (!schemas.some((fields) => namesField(fields, field)))
        findings.push(
          error('omit_unknown_field', `${path}/omit/${at}`, `no result that this grant opens has a field '${field}'`),
        );
  for (const { item } of opened)
    if (item !== undefined && item.outputFields === undefined)
      findings.push(
        warning(
          'omit_not_enforceable',
          `${path}/omit`,
          `the ${item.kind} '${item.name}' has no output schema: nothing can be left out of it`,
        ),
      );
  return findings;
}

function subjects(grant: GrantDocument, path: string, opened: readonly Mapping[]): readonly Diagnostic[] {
  const nobody = opened.flatMap(({ item }) => (item?.hasSubject === false ? [item] : []));
  return nobody.flatMap((item) => [
    ...(grant.subject === undefined
      ? []
      : [
          warning(
            'subject_not_available',
            `${path}/subject`,
            `the ${item.kind} '${item.name}' is about nobody in particular: bound to a subject, it is always denied`,
          ),
        ]),
    ...(grant.distinctSubjects === undefined
      ? []
      : [
          warning(
            'subject_not_available',
            `${path}/distinctSubjects`,
            `the ${item.kind} '${item.name}' is about nobody in particular: its calls are not counted here`,
          ),
        ]),
  ]);
}
