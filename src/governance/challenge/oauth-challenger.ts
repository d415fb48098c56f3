import type { EventLog } from '../../logging/event-log.js';
import type { Caller } from '../../mcp/call.js';
import type { Challenge } from '../../mcp/edge/challenge.js';
import type { Challenger } from '../../mcp/ports.js';
import { ANCHORS, visible, type Pointer, type PrincipalProblem } from '../core/index.js';
import type { ExplainedCode } from '../explanations.js';
import { currentOf, type Current } from '../current.js';
import type { Now } from '../ports.js';
import type { Recognition } from '../recognition.js';
import { refusedList, refusedOutright } from '../refusal.js';
import type { ServedPolicy } from '../served-policy.js';

export interface OAuthChallengerParts {
  readonly served: ServedPolicy | Current<ServedPolicy>;
  readonly recognition: Recognition;
  readonly resource: string | undefined;
  readonly now: Now;
  readonly log: EventLog;
}

/** RFC 6750 §3.1; who has sent nothing is told of no error. */
const ERRORS: Readonly<Record<PrincipalProblem, Readonly<Record<string, string>>>> = {
  credential_missing: {},
  credential_invalid: { error: 'invalid_token', error_description: 'The access token is not valid' },
  credential_expired: { error: 'invalid_token', error_description: 'The access token has expired' },
  issuer_unknown: { error: 'invalid_token', error_description: 'Nobody here vouches for the access token' },
  scope_insufficient: { error: 'insufficient_scope' },
};

/**
 * The challenge `oauth`: who is not recognised is answered 401, so that OAuth clients log in; 403 where a login as somebody
 * else, or for more, is what would help: the token lacks a scope of its issuer, or nothing at all is granted to whom it names.
 * Never because of the one thing that was asked for: that would tell a hidden name from one that does not exist.
 */
export class OAuthChallenger implements Challenger {
  readonly resource?: string;
  readonly #current: Current<ServedPolicy>;

  constructor(private readonly parts: OAuthChallengerParts) {
    if (parts.resource !== undefined) this.resource = parts.resource;
    this.#current = currentOf(parts.served);
  }

  async challenge(caller: Caller, signal: AbortSignal): Promise<Challenge | undefined> {
    const { recognition, now } = this.parts;
    const served = this.#current.now;
    const found = await recognition.principalOf(caller, signal, served);
    if (!found.ok) {
      const { problem } = found;
      const status = problem === 'scope_insufficient' ? 403 : 401;
      return challengeOf(served, caller, problem, ANCHORS.issuers, status, ERRORS[problem]);
    }
    if (visible(served.policy, found.principal, now()).capabilities.size > 0) return undefined;
    return challengeOf(served, caller, 'no_grant_matches', ANCHORS.grants, 403, ERRORS.scope_insufficient);
  }

  refused(reason: string, requestId: string): void {
    this.parts.log.warning('request_challenged', { reason, request_id: requestId });
  }

  async metadata(): Promise<{ authorizationServers: readonly string[]; scopes: readonly string[] }> {
    const served = this.#current.now;
    const authorizationServers = await this.parts.recognition.authorizationServers(served);
    return { authorizationServers, scopes: scopesOf(served) };
  }
}

function challengeOf(
  served: ServedPolicy,
  { language }: Caller,
  code: ExplainedCode,
  path: Pointer,
  status: 401 | 403,
  error: Readonly<Record<string, string>>,
): Challenge {
  const { locate } = served;
  const scopes = scopesOf(served);
  const refused = status === 401 ? refusedList : refusedOutright;
  return {
    status,
    parameters: { ...error, ...(scopes.length > 0 && { scope: scopes.join(' ') }) },
    refusal: (requestId) => refused({ code, path, locate, requestId, language }),
  };
}

function scopesOf({ policy }: ServedPolicy): readonly string[] {
  const declared = [...policy.issuers.values()].flatMap(({ scopes = [] }) => scopes);
  // It asks for a longer login, not for anything here (mcp-protocol.md §1.6-26).
  return [...new Set(declared)].filter((scope) => scope !== 'offline_access').sort();
}
