import type { McpCall } from '../call.js';
import { CallError, INVALID_PARAMS } from '../errors.js';
import type { Result } from '../results.js';
import { Conversation, NO_DIALOGUE, type Dialogue } from './dialogue.js';
import { Questions, canAnswer } from './questions.js';
import type { RequestState } from './request-state.js';

/** MCP 2026-07-28, `MissingRequiredClientCapability`. */
const MISSING_CAPABILITY = -32021;

const STALE = 'La respuesta no corresponde a una pregunta vigente de esta consulta. Haz la consulta de nuevo.';
const CANNOT_ASK =
  'Esta consulta necesita preguntarte algo y tu cliente no lo permite: hace falta uno que hable MCP 2026-07-28.';
const CANNOT_ANSWER = 'Esta consulta necesita preguntarte algo que tu cliente no declara que sepa responder.';

/** Runs the method of an entry, and makes the protocol's result of what it gives. */
export type Asking = (
  call: McpCall,
  method: (dialogue: Dialogue) => unknown,
  answered: (answer: unknown) => Result,
) => Promise<Result>;

/** Of an entry that declares no `asks`: a question is a bug, and what the caller answers to nothing is ignored. */
export const NOT_ASKING: Asking = async (_call, method, answered) => {
  const answer = await method(NO_DIALOGUE);
  if (answer instanceof Questions) throw new Error('an entry that does not declare `asks` has asked');
  return answered(answer);
};

/**
 * Each round is one call, with its own records: a round that ends in a question is a `success` with the note
 * `input_required`. With `states`, an answer counts only together with a state of ours for this very call.
 */
export function asking(states: RequestState | undefined): Asking {
  return async (call, method, answered) => {
    const answer = await method(dialogueOf(call, states));
    return answer instanceof Questions ? asked(call, answer, states) : answered(answer);
  };
}

/** True for a result that is a question: its payload is nobody's to judge yet. */
export function isQuestion(result: unknown): boolean {
  return (result as Result)['resultType'] === 'input_required';
}

function dialogueOf(call: McpCall, states: RequestState | undefined): Dialogue {
  const { round } = call;
  if (round === undefined) return NO_DIALOGUE;
  const { capabilities, responses, state } = round;
  if (states === undefined) return new Conversation(capabilities, responses, undefined);
  if (state === undefined) return new Conversation(capabilities, {}, undefined);
  const opened = states.open(call, state);
  if (!opened.ok) throw new CallError('invalid_request_state', STALE, { jsonRpcCode: INVALID_PARAMS });
  return new Conversation(capabilities, responses, opened.state);
}

function asked(call: McpCall, { requests, state }: Questions, states: RequestState | undefined): Result {
  if (states === undefined && state !== undefined) throw new Error("a state needs `asks: 'bound'`");
  const { round } = call;
  if (round === undefined) throw new CallError('input_unsupported', CANNOT_ASK);
  const questions = Object.entries(requests);
  const missing = questions.filter(([, question]) => !canAnswer(round.capabilities, question));
  if (missing.length > 0) {
    const requiredCapabilities = Object.assign({}, ...missing.map(([, { needs }]) => needs)) as object;
    const data = { requiredCapabilities };
    throw new CallError('missing_capability', CANNOT_ANSWER, { data, jsonRpcCode: MISSING_CAPABILITY });
  }
  call.journal.note('input_required', questions.map(([key]) => key).join(','));
  return {
    resultType: 'input_required',
    inputRequests: Object.fromEntries(questions.map(([key, { method, params }]) => [key, { method, params }])),
    ...(states && { requestState: states.seal(call, state) }),
  };
}
