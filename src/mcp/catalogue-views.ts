import type { Caller, CallKind } from './call.js';
import type { CompiledEntry } from './catalogue-entry.js';
import type { Visibility } from './ports.js';

/** What there are lists of: families of resources have one of their own. */
export type ListKind = CallKind | 'template';

type Entries = Readonly<Record<ListKind, readonly CompiledEntry[]>>;
type View = Readonly<Record<ListKind, readonly unknown[]>>;

/** Views kept at a time. A key is made by governance, but from who the caller is: an outsider controls how many there are. */
const MOST_VIEWS = 256;

/** Lists, made once per view and serialised once: with 50 tools, serialising costs as much as all the rest of the call. */
export class CatalogueViews {
  readonly #views = new Map<string, View>();
  readonly #texts = new WeakMap<object, string>();

  constructor(
    private readonly entries: Entries,
    private readonly visibility: Visibility,
  ) {}

  definitions(kind: ListKind, caller: Caller): readonly unknown[] {
    const { key, sees } = this.visibility.view(caller);
    let view = this.#views.get(key);
    if (view === undefined) {
      view = this.make(sees);
      const oldest = this.#views.size >= MOST_VIEWS ? this.#views.keys().next().value : undefined;
      if (oldest !== undefined) this.#views.delete(oldest);
      this.#views.set(key, view);
    }
    return view[kind];
  }

  serialised(definitions: unknown): string | undefined {
    return typeof definitions === 'object' && definitions !== null ? this.#texts.get(definitions) : undefined;
  }

  private make(sees: (entry: CompiledEntry) => boolean): View {
    const list = (kind: ListKind) => this.list(kind, sees);
    return { tool: list('tool'), resource: list('resource'), template: list('template'), prompt: list('prompt') };
  }

  private list(kind: ListKind, sees: (entry: CompiledEntry) => boolean): readonly unknown[] {
    const definitions = this.entries[kind].filter(sees).map(({ definition }) => definition);
    this.#texts.set(definitions, JSON.stringify(definitions));
    return definitions;
  }
}
