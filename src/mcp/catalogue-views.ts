import type { Caller, CallKind } from './call.js';
import type { CompiledEntry } from './catalogue-entry.js';
import type { CatalogueView, Visibility } from './ports.js';

/** What there are lists of: families of resources have one of their own. */
export type ListKind = CallKind | 'template';

type Entries = Readonly<Record<ListKind, readonly CompiledEntry[]>>;
type Lists = Readonly<Record<ListKind, readonly unknown[]>>;

/** Views kept at a time. A key is made by governance, but from who the caller is: an outsider controls how many there are. */
const MOST_VIEWS = 256;

/** Lists, made once per view and serialised once: with 50 tools, serialising costs as much as all the rest of the call. */
export class CatalogueViews {
  readonly #views = new Map<string, Lists>();
  readonly #texts = new WeakMap<object, string>();

  constructor(
    private readonly entries: Entries,
    private readonly visibility: Visibility,
  ) {}

  async definitions(kind: ListKind, caller: Caller, signal: AbortSignal): Promise<readonly unknown[]> {
    const view = await this.visibility.view(caller, signal);
    let lists = this.#views.get(view.key);
    if (lists === undefined) {
      lists = this.make(view);
      const oldest = this.#views.size >= MOST_VIEWS ? this.#views.keys().next().value : undefined;
      if (oldest !== undefined) this.#views.delete(oldest);
      this.#views.set(view.key, lists);
    }
    return lists[kind];
  }

  serialised(definitions: unknown): string | undefined {
    return typeof definitions === 'object' && definitions !== null ? this.#texts.get(definitions) : undefined;
  }

  private make(view: CatalogueView): Lists {
    const list = (kind: ListKind) => this.list(kind, view);
    return { tool: list('tool'), resource: list('resource'), template: list('template'), prompt: list('prompt') };
  }

  private list(kind: ListKind, { sees, shows = compiled }: CatalogueView): readonly unknown[] {
    const definitions = this.entries[kind].filter(sees).map(shows);
    this.#texts.set(definitions, JSON.stringify(definitions));
    return definitions;
  }
}

const compiled = ({ definition }: CompiledEntry): CompiledEntry['definition'] => definition;
