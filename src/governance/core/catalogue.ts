import type { PolicyDocument, TransportDocument } from './document.js';
import { ANCHORS, pointer, type Pointer } from './pointer.js';

export type EntryKind = 'tool' | 'resource' | 'prompt';

/** Something that really exists, as the code or an upstream tells it. */
export interface CatalogueItem {
  readonly kind: EntryKind;
  readonly name: string;
  /** Resources only. */
  readonly uri?: string;
  readonly description?: string;
  /** Whether a call has a canonical subject; absent = not known. */
  readonly hasSubject?: boolean;
  /** Fields of the output schema, dotted (`cliente.datos.email`); absent = no output schema. */
  readonly outputFields?: readonly string[];
  /** Names of the tools of the same place whose decisions a composite needs. */
  readonly parts?: readonly string[];
}

/**
 * What exists, as far as it is known. `local` absent, or an upstream absent from the map, means "not known": its mappings
 * are then taken at their word. An empty list means "known to be empty".
 */
export interface Catalogue {
  readonly local?: readonly CatalogueItem[];
  readonly upstreams?: ReadonlyMap<string, readonly CatalogueItem[]>;
}

/** One line of the artefact that maps something real to a capability. */
export interface Mapping {
  readonly kind: EntryKind;
  readonly upstream: string;
  readonly transport: TransportDocument['kind'];
  /** Name as the artefact writes it; for a resource its URI or its name. */
  readonly name: string;
  readonly capability: string;
  readonly path: Pointer;
  /** Where the name stands. */
  readonly namePath: Pointer;
  /** The item it maps; undefined when the catalogue of that place is not known, or does not have it. */
  readonly item: CatalogueItem | undefined;
  /** The catalogue of its place is known. */
  readonly known: boolean;
}

/** Local names stay; an upstream's are always qualified, so that adding one never renames another's (spec §4.2, issue 4). */
export const exposedName = (transport: TransportDocument['kind'], upstream: string, name: string): string =>
  transport === 'local' ? name : `${upstream}__${name}`;

/** What names an item for good: a resource's URI, anything else's name. */
export const itemName = (item: CatalogueItem): string => item.uri ?? item.name;

export function itemsOf(
  catalogue: Catalogue,
  upstream: string,
  transport: TransportDocument['kind'],
): readonly CatalogueItem[] | undefined {
  return transport === 'local' ? catalogue.local : catalogue.upstreams?.get(upstream);
}

const find = (items: readonly CatalogueItem[], kind: EntryKind, name: string): CatalogueItem | undefined =>
  items.find((item) => item.kind === kind && itemName(item) === name) ??
  items.find((item) => item.kind === kind && item.name === name);

/** All mappings of the artefact, in its order, each joined to the item it names. */
export function mappingsOf(document: PolicyDocument, catalogue: Catalogue): readonly Mapping[] {
  return (document.upstreams ?? []).flatMap((upstream, index) => {
    const transport = upstream.transport.kind;
    const items = itemsOf(catalogue, upstream.id, transport);
    const mapping = (
      kind: EntryKind,
      section: string,
      field: string,
      name: string,
      capability: string,
      at: number,
    ): Mapping => {
      const path = pointer('upstreams', index, section, at);
      const item = items === undefined ? undefined : find(items, kind, name);
      return {
        kind,
        upstream: upstream.id,
        transport,
        name,
        capability,
        path,
        namePath: path + pointer(field),
        item,
        known: items !== undefined,
      };
    };
    return [
      ...upstream.tools.map((tool, at) => mapping('tool', 'tools', 'name', tool.name, tool.capability, at)),
      ...(upstream.resources ?? []).map((resource, at) =>
        resource.uri === undefined
          ? mapping('resource', 'resources', 'name', resource.name, resource.capability, at)
          : mapping('resource', 'resources', 'uri', resource.uri, resource.capability, at),
      ),
      ...(upstream.prompts ?? []).map((prompt, at) =>
        mapping('prompt', 'prompts', 'name', prompt.name, prompt.capability, at),
      ),
    ];
  });
}

/** The name under which a mapping's entry is seen; a resource is always seen under its URI when that is known. */
export const exposedNameOf = (mapping: Mapping): string =>
  exposedName(mapping.transport, mapping.upstream, mapping.item === undefined ? mapping.name : itemName(mapping.item));

/** Items that no mapping covers: invisible to everybody. */
export function unmappedItems(
  document: PolicyDocument,
  catalogue: Catalogue,
  mappings: readonly Mapping[],
): readonly { readonly name: string; readonly kind: EntryKind; readonly path: Pointer }[] {
  const covered = new Set(mappings.flatMap((mapping) => (mapping.item === undefined ? [] : [mapping.item])));
  const places: readonly (readonly CatalogueItem[])[] = [
    catalogue.local ?? [],
    ...(document.upstreams ?? []).flatMap((upstream) =>
      upstream.transport.kind === 'local' ? [] : [catalogue.upstreams?.get(upstream.id) ?? []],
    ),
  ];
  return places
    .flat()
    .filter((item) => !covered.has(item))
    .map((item) => ({ name: itemName(item), kind: item.kind, path: ANCHORS.upstreams }));
}
