import { redactText } from './redaction.js';

/**
 * What the log says of a cause (architecture §4, law 8): class, code, redacted message, stack frames, and the same of
 * what caused it. An error's other properties are never looked at: they hold requests, rows, parameters, connections.
 */

const MAX_FRAMES = 12;
const MAX_CAUSES = 4;
const MAX_SIBLINGS = 3;

const NAME = /^[A-Za-z_$][\w$.]{0,63}$/;
/** SQLSTATE, errno or a library's code. Six digits in a row could be somebody's number. */
const CODE = /^(?!.*\d{6})[A-Za-z0-9_]{2,48}$/;
const FRAME =
  /^\s+at (?:(?<call>(?:async |new )*[\w$.<>#\s[\]]{1,120}) \()?(?<place>(?:file:\/\/)?\/[^()\s]+:\d+:\d+|node:[\w/]+:\d+:\d+)\)?$/;
/** What a frame shows of a path: from the folder on that every machine has. */
const PLACE = /^.*\/(?=(?:node_modules|src|dist|test|scripts)\/)|^.*\/(?=[^/]+$)/;

/** Several lines: `Class [CODE]: message`, frames, `caused by: …`. Never throws. */
export function describeCause(cause: unknown): string {
  const parts: string[] = [];
  describe(cause, parts, new Set());
  return parts.join('\n');
}

function describe(cause: unknown, parts: string[], seen: Set<unknown>): void {
  const lead = seen.size === 0 ? '' : 'caused by: ';
  if (seen.size >= MAX_CAUSES || seen.has(cause)) return;
  seen.add(cause);
  if (typeof cause !== 'object' || cause === null) {
    parts.push(`${lead}${typeof cause === 'string' ? redactText(cause) : typeof cause}`);
    return;
  }
  const message = redactText(textOf(cause, 'message'));
  const code = codeOf(cause);
  parts.push(`${lead}${classOf(cause)}${code === '' ? '' : ` [${code}]`}${message === '' ? '' : `: ${message}`}`);
  parts.push(...framesOf(textOf(cause, 'stack'), textOf(cause, 'message')));
  const siblings = property(cause, 'errors');
  if (Array.isArray(siblings)) siblings.slice(0, MAX_SIBLINGS).forEach((sibling) => describe(sibling, parts, seen));
  const inner = property(cause, 'cause');
  if (inner !== undefined && inner !== null) describe(inner, parts, seen);
}

/** Frames of a stack whose head (class and message, in as many lines as the message has) is left out. */
export function framesOf(stack: string, message: string): string[] {
  const at = message === '' ? -1 : stack.indexOf(message);
  const frames = at < 0 ? stack : stack.slice(at + message.length);
  const kept: string[] = [];
  for (const line of frames.split('\n')) {
    const { call, place } = FRAME.exec(line)?.groups ?? {};
    if (place === undefined || place.startsWith('node:internal')) continue;
    kept.push(call === undefined ? `    at ${short(place)}` : `    at ${call} (${short(place)})`);
    if (kept.length === MAX_FRAMES) break;
  }
  return kept;
}

const short = (place: string) => (place.startsWith('node:') ? place : place.replace(PLACE, ''));

/** Most libraries set `name` badly or not at all (pg's is `error`); only plain errors are told apart by it. */
function classOf(cause: object): string {
  const own = textOf(cause, 'name');
  const constructor = property(cause, 'constructor');
  const made = typeof constructor === 'function' ? textOf(constructor, 'name') : '';
  const plain = made === '' || made === 'Error' || made === 'DOMException' || made === 'Object';
  const name = plain && own !== '' ? own : made;
  return NAME.test(name) ? name : 'Error';
}

function codeOf(cause: object): string {
  const code = property(cause, 'code');
  const text = typeof code === 'string' || typeof code === 'number' ? String(code) : '';
  return CODE.test(text) ? text : '';
}

function textOf(holder: object, name: string): string {
  const value = property(holder, name);
  return typeof value === 'string' ? value : '';
}

function property(holder: object, name: string): unknown {
  try {
    return (holder as Record<string, unknown>)[name];
  } catch {
    // A getter of an unknown object that fails: as good as absent, and a logger does not throw.
    return undefined;
  }
}
