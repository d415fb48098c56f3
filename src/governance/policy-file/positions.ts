import { isAlias, isMap, isScalar, isSeq, type Document, type LineCounter, type Node } from 'yaml';
import { pointerTokens, type Pointer } from '../core/index.js';

/** Lines and columns count from 1, offsets from 0. */
export interface Position {
  readonly line: number;
  readonly column: number;
  readonly offset: number;
}

/** Where a pointer stands in the file, or undefined: a pointer to nothing is absent, never an invented place. */
export type Locate = (path: Pointer) => Position | undefined;

export function locator(document: Document, lines: LineCounter): Locate {
  return (path) => {
    const tokens = pointerTokens(path);
    const place = tokens === undefined ? undefined : offsetOf(document, tokens);
    return place === undefined ? undefined : positionAt(lines, place);
  };
}

export function positionAt(lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset);
  // An empty file has no line of its own for the counter.
  return { line: Math.max(line, 1), column: Math.max(col, 1), offset };
}

function offsetOf(document: Document, tokens: readonly string[]): number | undefined {
  let node: unknown = document.contents;
  // A document without contents is still a place: its beginning.
  let offset: number | undefined = start(node) ?? 0;
  for (const token of tokens) {
    const inside = isAlias(node) ? node.resolve(document) : node;
    if (isMap(inside)) {
      const pair = inside.items.find(({ key }) => (isScalar(key) ? String(key.value) : undefined) === token);
      if (pair === undefined) return undefined;
      node = pair.value;
      // `using:` with nothing behind it has no value; its key is the nearest place.
      offset = isScalar(node) && node.source === '' ? start(pair.key) : (start(node) ?? start(pair.key));
    } else if (isSeq(inside)) {
      if (!/^(0|[1-9]\d*)$/.test(token) || Number(token) >= inside.items.length) return undefined;
      node = inside.items[Number(token)];
      offset = start(node);
    } else {
      return undefined;
    }
    if (offset === undefined) return undefined;
  }
  return offset;
}

const start = (node: unknown): number | undefined => (node as Node | null | undefined)?.range?.[0];
