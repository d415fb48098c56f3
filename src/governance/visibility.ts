import type { EventLog } from '../logging/event-log.js';
import type { Caller } from '../mcp/call.js';
import type { CompiledEntry } from '../mcp/catalogue-entry.js';
import type { CatalogueView, Visibility } from '../mcp/ports.js';
import { ANCHORS, entryOf, visible, type GovernedEntry, type View } from './core/index.js';
import { definitionWithout, leftOutBy } from './left-out.js';
import { NOTHING_LEFT_OUT, type LeftOut } from './output-fields.js';
import type { Now } from './ports.js';
import type { Recognition } from './recognition.js';
import { newRequestId, refusedList } from './refusal.js';
import type { ServedPolicy } from './served-policy.js';

/**
 * Lists are the same evaluation as calls (P1). A view is named by what is seen in it, capabilities and what is left out of
 * their results, never by who sees it: it is rendered once for everybody who sees the same.
 */
export class GovernedVisibility implements Visibility {
  constructor(
    private readonly served: ServedPolicy,
    private readonly recognition: Recognition,
    private readonly now: Now,
    private readonly log: EventLog,
  ) {}

  async view(caller: Caller, signal: AbortSignal): Promise<CatalogueView> {
    const recognised = await this.recognition.principalOf(caller.credential, signal, caller.certificate);
    if (!recognised.ok) {
      const { problem: code } = recognised;
      const requestId = newRequestId();
      // The audit has it, in bounds; the log, only for whoever looks closely.
      this.log.debug('list_refused', { reason: code, request_id: requestId });
      const { locate } = this.served;
      throw refusedList({ code, path: ANCHORS.issuers, locate, requestId, language: caller.language });
    }
    const seen = visible(this.served.policy, recognised.principal, this.now());
    const leftOut = this.#leftOut(seen);
    return {
      key: leftOut.size === 0 ? seen.key : `${seen.key}\n${JSON.stringify([...leftOut])}`,
      sees: (entry) => this.#seen(entry, seen) !== undefined,
      shows: (entry) => this.#shown(entry, leftOut),
    };
  }

  #seen({ kind, name }: CompiledEntry, seen: View): GovernedEntry | undefined {
    const entry = entryOf(this.served.policy, kind, name);
    return entry !== undefined && seen.capabilities.has(entry.capability) ? entry : undefined;
  }

  #leftOut({ capabilities }: View): ReadonlyMap<string, LeftOut> {
    const found = new Map<string, LeftOut>();
    for (const [capability, allow] of capabilities)
      if (allow.omit.length > 0) found.set(capability, leftOutBy(this.served.policy, allow));
    return found;
  }

  #shown(entry: CompiledEntry, leftOut: ReadonlyMap<string, LeftOut>): CompiledEntry['definition'] {
    if (leftOut.size === 0) return entry.definition;
    const of = (name: string): LeftOut => {
      const governed = entryOf(this.served.policy, entry.kind, name);
      return (governed && leftOut.get(governed.capability)) ?? NOTHING_LEFT_OUT;
    };
    return definitionWithout(entry, of(entry.name), new Map(entry.parts.map((part) => [part, of(part)])));
  }
}
