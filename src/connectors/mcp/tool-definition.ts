import { createHash } from 'node:crypto';

/** One tool as its upstream describes it, verbatim: somebody else's schemas are passed on and not judged here. */
export interface ToolDefinition {
  readonly name: string;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  readonly outputSchema?: unknown;
  readonly annotations?: unknown;
}

/** What a definition consists of; icons, `_meta` and fields of later revisions are neither shown nor pinned. */
const FIELDS = ['title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const;

/** From the wire or a file. Undefined when it has no name. */
export function toolDefinition(raw: unknown): ToolDefinition | undefined {
  if (typeof raw !== 'object' || raw === null || !('name' in raw) || typeof raw.name !== 'string') return undefined;
  const given: Readonly<Record<string, unknown>> = { ...raw };
  const present = FIELDS.filter((field) => given[field] !== undefined && given[field] !== null);
  return { name: raw.name, ...Object.fromEntries(present.map((field) => [field, given[field]])) };
}

/** `sha256:` and 64 hex digits over the definition, whatever the order of its keys. */
export function digestOf(definition: ToolDefinition): string {
  return `sha256:${createHash('sha256')
    .update(canonical(toolDefinition(definition)))
    .digest('hex')}`;
}

export const DIGEST = /^sha256:[0-9a-f]{64}$/;

/** JSON with the keys of every object sorted, so that an upstream that builds its objects in another order is the same. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  );
}
