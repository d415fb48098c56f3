import type { CallKind } from '../mcp/call.js';
import { CallError } from '../mcp/errors.js';
import type { Pointer } from './core/index.js';
import { explanation, LABELS, languageOf, type ExplainedCode } from './explanations.js';
import type { Locate } from './policy-file/positions.js';

/**
 * JSON-RPC codes of refusals where there is no tool result to carry them. Outside of −32768…−32000, which JSON-RPC keeps
 * for itself: clients treat those as faults of the protocol.
 */
export const UNAUTHENTICATED = -31_001;
export const DENIED = -31_003;

export interface Refused {
  readonly code: ExplainedCode;
  readonly path: Pointer;
  readonly locate: Locate;
  /** With it the audit's record of the call is found. */
  readonly requestId: string;
  readonly language: string | undefined;
}

/** A call that is refused: for a tool a result that its model reads, for the rest a JSON-RPC error. */
export function refusedCall(refused: Refused, kind: CallKind, unauthenticated = false): CallError {
  const jsonRpcCode = kind === 'tool' ? undefined : unauthenticated ? UNAUTHENTICATED : DENIED;
  return asError(refused, { jsonRpcCode });
}

/** A list that is refused: an error, because clients show an empty list as "connected, no tools". */
export const refusedList = (refused: Refused): CallError => asError(refused, { jsonRpcCode: UNAUTHENTICATED });

/** Somebody who is recognised and may do nothing here: an error whatever was asked for. */
export const refusedOutright = (refused: Refused): CallError => asError(refused, { jsonRpcCode: DENIED });

/** Authorised and not served: nobody's decision, so not a denial. */
export const failedCall = (refused: Refused): CallError => asError(refused, { result: 'failure' });

/** To its caller the name does not exist; the audit keeps why. */
export const hiddenCall = (code: string, result: 'denied' | 'failure'): CallError =>
  new CallError(code, 'the name does not exist for its caller', { asUnknown: true, result });

function asError(
  { code, path, locate, requestId, language }: Refused,
  details: { readonly jsonRpcCode?: number; readonly result?: 'failure' },
): CallError {
  const chosen = languageOf(language);
  const text = explanation(code, chosen);
  const label = LABELS[chosen];
  const position = locate(path);
  const place =
    position === undefined ? path : `${path} (${label.line} ${position.line}, ${label.column} ${position.column})`;
  return new CallError(
    code,
    `${text} [${label.code}: ${code}; ${label.place}: ${place}; ${label.request}: ${requestId}]`,
    {
      result: 'denied',
      ...details,
      data: {
        explanation: text,
        pointer: path,
        ...(position && { line: position.line, column: position.column }),
        request_id: requestId,
      },
    },
  );
}
