import type { EventLog } from '../logging/event-log.js';
import type { Caller } from '../mcp/call.js';
import type { CompiledEntry } from '../mcp/catalogue-entry.js';
import { newCorrelationId } from '../mcp/correlation-id.js';
import type { CatalogueView, Visibility } from '../mcp/ports.js';
import { ANCHORS, entryOf, visible, type GovernedEntry, type Policy, type View } from './core/index.js';
import { definitionWithout, leftOutBy } from './left-out.js';
import { NOTHING_LEFT_OUT, type LeftOut } from './output-fields.js';
import type { Now } from './ports.js';
import type { Recognition } from './recognition.js';
import { refusedList } from './refusal.js';
import { currentOf, type Current } from './current.js';
import type { ServedPolicy } from './served-policy.js';

/**
 * Lists are the same evaluation as calls (P1). A view is named by what is seen in it, capabilities and what is left out of
 * their results, never by who sees it: it is rendered once for everybody who sees the same.
 */
export class GovernedVisibility implements Visibility {
  readonly #current: Current<ServedPolicy>;

  constructor(
    served: ServedPolicy | Current<ServedPolicy>,
    private readonly recognition: Recognition,
    private readonly now: Now,
    private readonly log: EventLog,
  ) {
    this.#current = currentOf(served);
  }

  async view(caller: Caller, signal: AbortSignal): Promise<CatalogueView> {
    const served = this.#current.now;
    const { policy, locate } = served;
    const recognised = await this.recognition.principalOf(caller, signal, served);
    if (!recognised.ok) {
      const { problem: code } = recognised;
      const requestId = newCorrelationId();
      // The audit has it, in bounds; the log, only for whoever looks closely.
      this.log.debug('list_refused', { reason: code, request_id: requestId });
      throw refusedList({ code, path: ANCHORS.issuers, locate, requestId, language: caller.language });
    }
    const seen = visible(policy, recognised.principal, this.now());
    const leftOut = this.#leftOut(policy, seen);
    return {
      key: leftOut.size === 0 ? seen.key : `${seen.key}\n${JSON.stringify([...leftOut])}`,
      sees: (entry) => this.#seen(policy, entry, seen) !== undefined,
      shows: (entry) => this.#shown(policy, entry, leftOut),
    };
  }

  #seen(policy: Policy, { kind, name }: CompiledEntry, seen: View): GovernedEntry | undefined {
    const entry = entryOf(policy, kind, name);
    return entry !== undefined && seen.capabilities.has(entry.capability) ? entry : undefined;
  }

  #leftOut(policy: Policy, { capabilities }: View): ReadonlyMap<string, LeftOut> {
    const found = new Map<string, LeftOut>();
    for (const [capability, allow] of capabilities)
      if (allow.omit.length > 0) found.set(capability, leftOutBy(policy, allow));
    return found;
  }

  #shown(policy: Policy, entry: CompiledEntry, leftOut: ReadonlyMap<string, LeftOut>): CompiledEntry['definition'] {
    if (leftOut.size === 0) return entry.definition;
    const of = (name: string): LeftOut => {
      const governed = entryOf(policy, entry.kind, name);
      return (governed && leftOut.get(governed.capability)) ?? NOTHING_LEFT_OUT;
    };
    return definitionWithout(entry, of(entry.name), new Map(entry.parts.map((part) => [part, of(part)])));
  }
}
