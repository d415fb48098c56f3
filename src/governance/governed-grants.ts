import type { PartGrant } from '../mcp/call.js';
import type { CallDecisions, GovernedEntry, Principal } from './core/index.js';
import type { Omissions } from './left-out.js';
import type { ServedPolicy } from './served-policy.js';

/**
 * What travels with one call from `decide` to `consume`, as the call's own `grants`: no side table holds who is calling.
 * Until `consume` has filled it in nothing is allowed, neither the call nor a part of it.
 */
export class GovernedGrants extends Map<string, PartGrant> {
  omissions: Omissions = { own: [], parts: new Map() };

  constructor(
    readonly entry: GovernedEntry,
    readonly principal: Principal,
    /** Absent: whom the call is about is known only when its arguments have been validated. */
    readonly decisions: CallDecisions | undefined,
    /** Milliseconds since the epoch: the one instant of the call's decisions. */
    readonly at: number,
    /** When the call began, as the monotonic clock counts (milliseconds). */
    readonly startedAt: number,
    /** The one snapshot of the call: a reload meanwhile is for the calls after it. */
    readonly served: ServedPolicy,
  ) {
    super();
  }
}
