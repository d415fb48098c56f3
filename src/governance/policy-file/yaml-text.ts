import { isAlias, LineCounter, parseDocument, visit, type Document } from 'yaml';
import { positionAt, locator, type Locate, type Position } from './positions.js';

/** Bytes of the largest artefact; it is read whole. */
export const MAX_ARTEFACT_BYTES = 1_048_576;

/** Aliases one document may expand; more is an attack or an accident. */
const MAX_ALIASES = 100;

/** Brackets open at once; the parser recurses into each. The artefact needs six. */
const MAX_NESTING = 64;

export interface SyntaxProblem {
  /** Never quotes the text, which may hold a secret in the wrong place. */
  readonly message: string;
  readonly position?: Position;
}

export type YamlReading =
  | { readonly ok: true; readonly value: unknown; readonly locate: Locate }
  | { readonly ok: false; readonly problems: readonly SyntaxProblem[] };

/** YAML 1.2 core, one document, keys once, no merge keys. Never throws for what is in the text. */
export function readYaml(text: string): YamlReading {
  if (Buffer.byteLength(text) > MAX_ARTEFACT_BYTES) return refused(`larger than ${MAX_ARTEFACT_BYTES} bytes`);
  if (nesting(text) > MAX_NESTING) return refused(`nested deeper than ${MAX_NESTING} levels`);
  const lines = new LineCounter();
  // Pretty errors quote the line they are about; that line may hold a secret in the wrong place.
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: true,
    merge: false,
    logLevel: 'error',
  });
  // A warning is a tag or a directive that would be ignored: the text says something that would not be obeyed.
  const found = [...document.errors, ...document.warnings];
  if (found.length > 0)
    return {
      ok: false,
      problems: found.map(({ code, pos }) => ({ message: describe(code), position: positionAt(lines, pos[0]) })),
    };
  const { offsets, unresolved } = aliasesOf(document);
  const suspect = unresolved ?? offsets[MAX_ALIASES];
  if (suspect !== undefined) {
    const message = unresolved === undefined ? `more than ${MAX_ALIASES} aliases` : 'an alias without its anchor';
    return { ok: false, problems: [{ message, position: positionAt(lines, suspect) }] };
  }
  try {
    return { ok: true, value: document.toJS({ maxAliasCount: MAX_ALIASES }), locate: locator(document, lines) };
  } catch (error) {
    // What is left for toJS to refuse: few aliases that multiply into many.
    if (!(error instanceof ReferenceError)) throw error;
    return {
      ok: false,
      problems: [{ message: 'aliases expand too far', position: positionAt(lines, offsets[0] ?? 0) }],
    };
  }
}

const refused = (message: string): YamlReading => ({
  ok: false,
  problems: [{ message, position: { line: 1, column: 1, offset: 0 } }],
});

/** `DUPLICATE_KEY` → `duplicate key`. */
const describe = (code: string): string => code.toLowerCase().replaceAll('_', ' ');

function aliasesOf(document: Document): {
  readonly offsets: readonly number[];
  readonly unresolved: number | undefined;
} {
  const offsets: number[] = [];
  let unresolved: number | undefined;
  visit(document, (_key, node) => {
    if (!isAlias(node)) return;
    const offset = node.range?.[0] ?? 0;
    offsets.push(offset);
    if (node.resolve(document) === undefined) unresolved ??= offset;
  });
  return { offsets, unresolved };
}

/**
 * An upper bound of the nesting, without parsing: open brackets, plus what indentation and compact `- - -` can nest on
 * one line. Quoted brackets count too: an artefact has no use for 64 of them in a row.
 */
function nesting(text: string): number {
  let open = 0;
  let deepest = 0;
  for (const character of text) {
    if (character === '[' || character === '{') deepest = Math.max(deepest, (open += 1));
    else if (character === ']' || character === '}') open = Math.max(0, open - 1);
  }
  for (const line of text.split('\n')) {
    const indentation = /^[\s?:-]*/.exec(line)?.[0].length ?? 0;
    deepest = Math.max(deepest, Math.ceil(indentation / 2));
  }
  return deepest;
}
