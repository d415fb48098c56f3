import { exposedNameOf, unmappedItems, type Mapping } from '../catalogue.js';
import { error, warning, type Diagnostic } from '../diagnostic.js';
import { ANCHORS, pointer } from '../pointer.js';
import type { Check } from './findings.js';
import { isPlaintextUrl } from './url.js';

/** What every large MCP client accepts as the name of a tool (mcp-protocol.md). */
const EXPOSED_NAME = /^[A-Za-z0-9_-]{1,64}$/;

export const checkUpstreams: Check = ({ document, catalogue, mappings }) => {
  const capabilities = new Set(document.capabilities.map(({ id }) => id));
  const findings: Diagnostic[] = [];
  for (const [index, { transport }] of (document.upstreams ?? []).entries())
    if (transport.kind === 'mcp-http' && isPlaintextUrl(transport.url))
      findings.push(
        error(
          'insecure_url',
          pointer('upstreams', index, 'transport', 'url'),
          'only https, or http to a loopback address',
        ),
      );
  for (const mapping of mappings) {
    if (!capabilities.has(mapping.capability))
      findings.push(
        error(
          'unknown_capability_in_tool',
          `${mapping.path}/capability`,
          `the capability '${mapping.capability}' is not declared`,
          {
            path: ANCHORS.capabilities,
            note: 'capabilities are declared here',
          },
        ),
      );
    if (mapping.known && mapping.item === undefined)
      findings.push(
        error(
          'tool_not_in_catalog',
          mapping.namePath,
          `there is no ${mapping.kind} '${mapping.name}' behind '${mapping.upstream}'`,
        ),
      );
    if (mapping.kind === 'tool' && !EXPOSED_NAME.test(exposedNameOf(mapping)))
      findings.push(
        error(
          'exposed_name_too_long',
          mapping.namePath,
          `clients would see '${exposedNameOf(mapping)}'; a tool name has at most 64 letters, digits, '_' or '-'`,
        ),
      );
  }
  findings.push(...mappedTwice(mappings), ...unmappedParts(mappings));
  const declared = new Map((document.upstreams ?? []).map(({ id, transport }) => [id, transport.kind]));
  for (const id of catalogue.upstreams?.keys() ?? [])
    if (!declared.has(id) || declared.get(id) === 'local')
      findings.push(
        error(
          'unknown_upstream_in_catalog',
          ANCHORS.upstreams,
          `the catalogue speaks of an upstream '${id}' that is not declared`,
        ),
      );
  for (const item of unmappedItems(document, catalogue, mappings))
    findings.push(
      warning(
        'catalog_tool_unmapped',
        item.path,
        `the ${item.kind} '${item.name}' has no mapping and is invisible to everybody`,
      ),
    );
  return findings;
};

/** Two lines for one thing: whichever won would depend on their order (spec W-23). */
function mappedTwice(mappings: readonly Mapping[]): readonly Diagnostic[] {
  const first = new Map<string, Mapping>();
  return mappings.flatMap((mapping) => {
    const key = `${mapping.kind} ${exposedNameOf(mapping)}`;
    const earlier = first.get(key);
    if (earlier !== undefined)
      return [
        error(
          'duplicate_tool_mapping',
          mapping.path,
          `the ${mapping.kind} '${exposedNameOf(mapping)}' is mapped twice`,
          {
            path: earlier.path,
            note: 'first mapped here',
          },
        ),
      ];
    first.set(key, mapping);
    return [];
  });
}

function unmappedParts(mappings: readonly Mapping[]): readonly Diagnostic[] {
  return mappings.flatMap((mapping) =>
    (mapping.item?.parts ?? [])
      .filter(
        (part) =>
          !mappings.some(
            (other) => other.kind === 'tool' && samePlace(other, mapping) && (other.item?.name ?? other.name) === part,
          ),
      )
      .map((part) =>
        warning(
          'part_not_mapped',
          mapping.path,
          `its part '${part}' has no mapping, so that part is denied to everybody`,
        ),
      ),
  );
}

/** All local upstreams are one place; every other upstream is its own. */
const samePlace = (one: Mapping, other: Mapping): boolean =>
  one.transport === 'local' ? other.transport === 'local' : one.upstream === other.upstream;
