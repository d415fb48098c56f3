import { z, type ZodType } from 'zod';
import { inputSchemaOf, isRecord } from '../json-schema.js';

/** One request to the caller, as the protocol embeds it, and the client capability that it needs. */
export interface Question {
  readonly method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list';
  readonly params: Readonly<Record<string, unknown>>;
  readonly needs: Readonly<Record<string, unknown>>;
}

/** What a method returns instead of its answer: ask the caller, and call me again with what it says. */
export class Questions {
  constructor(
    readonly requests: Readonly<Record<string, Question>>,
    readonly state: unknown,
  ) {}
}

/**
 * Asks; the keys are the tool's own and go to the audit. `state` is any JSON value that the next round is to find again:
 * the caller can read it, and cannot change it. Only for `asks: 'bound'`.
 */
export function ask(requests: Readonly<Record<string, Question>>, state?: unknown): Questions {
  if (Object.keys(requests).length === 0) throw new TypeError('ask() without a question');
  return new Questions(requests, state);
}

const SCALARS = new Set(['string', 'number', 'integer', 'boolean']);

/** A form of flat fields that the client shows to its user. Make it once, next to the tool; ask with it as often as needed. */
export class Form<T> {
  readonly #requestedSchema: Readonly<Record<string, unknown>>;

  /** @throws TypeError when a field is neither a scalar nor a list of choices: clients can show no others. */
  constructor(readonly schema: ZodType<T>) {
    const { properties, required = [] } = inputSchemaOf(schema);
    const fields = isRecord(properties) ? Object.entries(properties) : [];
    const odd = fields.filter(([, field]) => !isField(field)).map(([name]) => name);
    if (fields.length === 0 || odd.length > 0) throw new TypeError(`no form can show: ${odd.join(', ') || 'nothing'}`);
    this.#requestedSchema = { type: 'object', properties, required };
  }

  /** `message`: why the user is asked. */
  question(message: string): Question {
    const params = { mode: 'form', message, requestedSchema: this.#requestedSchema };
    return { method: 'elicitation/create', params, needs: { elicitation: {} } };
  }
}

/** Asks the user to open `url`, for what must not pass through the client (a sign-in, a payment). */
export function visit(message: string, url: string): Question {
  return { method: 'elicitation/create', params: { mode: 'url', message, url }, needs: { elicitation: { url: {} } } };
}

/** Asks the client's model. Deprecated by the protocol itself (SEP-2577); prefer a form. */
export function sample(params: { readonly messages: readonly unknown[]; readonly maxTokens: number }): Question {
  return { method: 'sampling/createMessage', params: { ...params }, needs: { sampling: {} } };
}

/** Asks for the client's folders. Deprecated by the protocol itself (SEP-2577). */
export function listRoots(): Question {
  return { method: 'roots/list', params: {}, needs: { roots: {} } };
}

/** Whether a client with these capabilities can answer. An empty `elicitation` means forms, as it did before there were URLs. */
export function canAnswer(capabilities: Readonly<Record<string, unknown>>, { needs, params }: Question): boolean {
  return Object.keys(needs).every((name) => {
    const declared = capabilities[name];
    if (!isRecord(declared)) return false;
    if (params['mode'] === 'url') return isRecord(declared['url']);
    return params['mode'] !== 'form' || isRecord(declared['form']) || declared['url'] === undefined;
  });
}

function isField(field: unknown): boolean {
  if (!isRecord(field)) return false;
  if (SCALARS.has(String(field['type']))) return true;
  return (
    field['type'] === 'array' && isRecord(field['items']) && ('enum' in field['items'] || 'anyOf' in field['items'])
  );
}

/** Shape of an accepted form. */
export const ACCEPTED = z.object({ action: z.literal('accept'), content: z.record(z.string(), z.unknown()) });
