import type { Caller } from '../mcp/call.js';
import { type Canonical, normalisePrincipal, type Principal, type PrincipalProblem } from './core/index.js';
import type { PrincipalResolver } from './ports.js';
import { currentOf, type Current } from './current.js';
import type { ServedPolicy } from './served-policy.js';

/** What of a caller is looked at: the rest of him is hearsay. */
export type Presented = Pick<Caller, 'credential' | 'certificate'>;

export type Recognised =
  { readonly ok: true; readonly principal: Principal } | { readonly ok: false; readonly problem: PrincipalProblem };

/**
 * From a credential to a principal: the one place where a caller gets a name. Lists and calls ask it the same way; it
 * keeps nothing of who asked.
 */
export class Recognition {
  readonly #current: Current<ServedPolicy>;

  constructor(
    served: ServedPolicy | Current<ServedPolicy>,
    private readonly resolver: PrincipalResolver,
    private readonly canonical: Canonical,
  ) {
    this.#current = currentOf(served);
  }

  /** `served`: the snapshot of the request. */
  async principalOf(
    { credential, certificate }: Presented,
    signal: AbortSignal,
    served = this.#current.now,
  ): Promise<Recognised> {
    const found = await this.#resolverOf(served).resolve(credential, signal, certificate);
    if (!found.ok) return found;
    const issuer = served.policy.issuers.get(found.principal.issuer);
    return normalisePrincipal(issuer, found.principal, this.canonical);
  }

  /** Where callers can have a token that the snapshot would recognise; none when it has no provider. */
  async authorizationServers(served = this.#current.now): Promise<readonly string[]> {
    return (await this.#resolverOf(served).authorizationServers?.()) ?? [];
  }

  #resolverOf({ resolver }: ServedPolicy): PrincipalResolver {
    return resolver ?? this.resolver;
  }
}
