import { Content, resourceContents, text as textBlock, type Body, type Message } from './content.js';
import type { CallError } from './errors.js';

/** Protocol results, and the errors in them. One place: the results are what the next revision changes (spec §1.6-27). */
export type Result = Readonly<Record<string, unknown>>;

/** Key of the machine-readable side of an error. */
export const ERROR_META = 'mcp-corp/error';

export const INTERNAL_ERROR = -32603;

/** The answer to a name that does not exist, or that its caller may not know of: the same object for both. */
export class UnknownEntryFailure extends Error {
  override readonly name = 'UnknownEntryFailure';
}

/** An answer that is a JSON-RPC error and not a result. Its text reaches the caller. */
export class RpcFailure extends Error {
  override readonly name = 'RpcFailure';

  constructor(
    readonly code: number,
    message: string,
    readonly data?: Readonly<Record<string, unknown>>,
  ) {
    super(message);
  }
}

/** `payload` as data, and as the same compact JSON in one text block for clients that read only text (spec §5.4). */
export function toolResult(payload: unknown): Result {
  return { content: [{ type: 'text', text: JSON.stringify(payload) }], structuredContent: payload };
}

/** Of a tool whose output is CONTENT. Anything else is a bug of the tool: data that no schema has checked. */
export function contentResult(answer: unknown): Result {
  if (!(answer instanceof Content)) throw new Error('a tool without an output schema must answer with content(…)');
  return { content: answer.blocks };
}

/** Never with `structuredContent`: clients check that against the output schema and hide the error (spec §4-15). */
export function toolError(text: string, code: string, data?: CallError['data']): Result {
  return { content: [{ type: 'text', text }], isError: true, _meta: { [ERROR_META]: { ...data, code } } };
}

export function resourceResult(uri: string, mimeType: string, body: Body): Result {
  return { contents: [resourceContents(uri, mimeType, body)] };
}

/** A text stands for one message of the user. */
export function promptResult(description: string, rendered: string | readonly Message[]): Result {
  const messages = typeof rendered === 'string' ? [{ role: 'user', content: textBlock(rendered) }] : rendered;
  return { description, messages };
}
