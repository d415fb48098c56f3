import type { CallKind } from './call.js';
import type { CallPipeline } from './call-pipeline.js';
import type { CompiledEntry } from './catalogue-entry.js';
import { CallError } from './errors.js';

/** Name of every call whose name is not in the catalogue: an outsider's text can be an identifier. */
export const UNKNOWN = 'unknown';

/** Host of the methods that belong to no class of a tool: `ExecutionContext.getClass()` gives it. */
export class CatalogueHost {}

/**
 * Stands for whatever the catalogue does not hold, and walks the same steps, so that asking for it is audited. Its text
 * names nothing: only `mcp/protocol/`, which holds the request, may repeat to the caller what the caller has said.
 *
 * @param like an entry that reads a subject, as the ones that a caller may not see do
 */
export function unknownEntry(kind: CallKind, pipeline: CallPipeline, like?: CompiledEntry): CompiledEntry {
  return {
    kind,
    name: UNKNOWN,
    definition: {},
    requires: [],
    parts: [],
    outcome: () => 'success',
    subject: () => null,
    ...(like && { subjectIfThere: like.subject }),
    validate: (input) => input,
    run: pipeline.around(new CatalogueHost(), `unknown ${kind}`, async () => {
      throw new CallError('not_found', `Unknown ${kind}`, { asUnknown: true });
    }),
  };
}
