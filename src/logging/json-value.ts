import { describeCause } from './exception.js';
import { isHiddenName, redactField } from './redaction.js';

/**
 * One field's value as JSON, bounded in depth, count and length whatever it is, and never with the content of an object
 * that was not made for a log: only plain objects, arrays and what has a `toJSON` are spelt out.
 */
const MAX_DEPTH = 5;
const MAX_ITEMS = 100;
const MAX_NODES = 1000;
export const MAX_TEXT = 2048;

export const HIDDEN = '"[hidden]"';
const TRUNCATED = '"[truncated]"';
const UNREADABLE = '"[unreadable]"';

interface Budget {
  nodes: number;
  readonly above: Set<object>;
}

/** Undefined when the field has no value. Never throws. */
export function encodeField(name: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (isHiddenName(name)) return value === null ? 'null' : HIDDEN;
  switch (typeof value) {
    case 'string':
      return encodeText(value);
    case 'number':
      return Number.isFinite(value) ? String(value) : `"${value}"`;
    case 'boolean':
      return value ? 'true' : 'false';
    default:
      return encode(value, 0, { nodes: MAX_NODES, above: new Set() });
  }
}

export function encodeText(text: string): string {
  return JSON.stringify(redactField(text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text));
}

function encode(value: unknown, depth: number, budget: Budget): string {
  budget.nodes -= 1;
  if (budget.nodes < 0) return TRUNCATED;
  try {
    switch (typeof value) {
      case 'string':
        return encodeText(value);
      case 'number':
        return Number.isFinite(value) ? String(value) : `"${value}"`;
      case 'boolean':
        return value ? 'true' : 'false';
      case 'object':
        return value === null ? 'null' : encodeObject(value, depth, budget);
      case 'undefined':
        return 'null';
      case 'function':
        return '"[Function]"';
      default:
        return encodeText(String(value));
    }
  } catch {
    // A getter, proxy or toJSON that fails must not cost the line.
    return UNREADABLE;
  }
}

function encodeObject(value: object, depth: number, budget: Budget): string {
  if (value instanceof Error) return encodeText(describeCause(value));
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'null' : `"${value.toISOString()}"`;
  if (budget.above.has(value)) return '"[circular]"';
  if (depth >= MAX_DEPTH) return TRUNCATED;
  budget.above.add(value);
  try {
    if (Array.isArray(value)) return encodeArray(value, depth, budget);
    if (ArrayBuffer.isView(value)) return `"[${value.constructor.name}]"`;
    const { toJSON } = value as { toJSON?: unknown };
    if (typeof toJSON === 'function') return encode(toJSON.call(value), depth + 1, budget);
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === null || Object.getPrototypeOf(prototype) === null) return encodeRecord(value, depth, budget);
    return encodeText(nameOf(value));
  } finally {
    budget.above.delete(value);
  }
}

/** An unknown object speaks through its own `toString`, or is only named. */
function nameOf(value: object): string {
  const { toString } = value as { toString: () => string };
  if (toString !== Object.prototype.toString) return toString.call(value);
  return `[${value.constructor.name || 'Object'}]`;
}

function encodeArray(items: readonly unknown[], depth: number, budget: Budget): string {
  const encoded = items.slice(0, MAX_ITEMS).map((item) => encode(item, depth + 1, budget));
  if (items.length > MAX_ITEMS) encoded.push(TRUNCATED);
  return `[${encoded.join(',')}]`;
}

function encodeRecord(record: object, depth: number, budget: Budget): string {
  const encoded: string[] = [];
  for (const [name, value] of Object.entries(record) as [string, unknown][]) {
    if (value === undefined) continue;
    if (encoded.length === MAX_ITEMS) {
      encoded.push(`"[truncated]":true`);
      break;
    }
    const text = isHiddenName(name) && value !== null ? HIDDEN : encode(value, depth + 1, budget);
    encoded.push(`${encodeText(name)}:${text}`);
  }
  return `{${encoded.join(',')}}`;
}
