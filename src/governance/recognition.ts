import type { ForwardedCertificate } from '../mcp/call.js';
import { type Canonical, normalisePrincipal, type Principal, type PrincipalProblem } from './core/index.js';
import type { PrincipalResolver } from './ports.js';
import type { ServedPolicy } from './served-policy.js';

export type Recognised =
  { readonly ok: true; readonly principal: Principal } | { readonly ok: false; readonly problem: PrincipalProblem };

/**
 * From a credential to a principal: the one place where a caller gets a name. Lists and calls ask it the same way; it
 * keeps nothing of who asked.
 */
export class Recognition {
  constructor(
    private readonly served: ServedPolicy,
    private readonly resolver: PrincipalResolver,
    private readonly canonical: Canonical,
  ) {}

  async principalOf(credential: string, signal: AbortSignal, certificate?: ForwardedCertificate): Promise<Recognised> {
    const found = await this.resolver.resolve(credential, signal, certificate);
    if (!found.ok) return found;
    const issuer = this.served.policy.issuers.get(found.principal.issuer);
    return normalisePrincipal(issuer, found.principal, this.canonical);
  }
}
