import type { ForwardedCertificate } from '../../mcp/call.js';
import type { PrincipalResolver, Recognition } from '../ports.js';
import type { MtlsIssuers } from './mtls-issuers.js';
import { OidcIssuers } from './oidc-issuers.js';
import type { StaticKeys } from './static-keys.js';

/**
 * All issuers of a policy on one endpoint. What a caller presents himself is what counts; a certificate that his proxy vouches
 * for speaks only where he presents nothing, and never stands in for a credential that is not valid.
 */
export class Issuers implements PrincipalResolver {
  constructor(
    private readonly keys: StaticKeys,
    private readonly tokens?: OidcIssuers,
    private readonly certificates?: MtlsIssuers,
  ) {}

  async resolve(presented: string, signal: AbortSignal, certificate?: ForwardedCertificate): Promise<Recognition> {
    if (presented === '' && certificate !== undefined && this.certificates !== undefined)
      return this.certificates.resolve(certificate);
    if (this.tokens !== undefined && OidcIssuers.looksLikeToken(presented)) {
      const found = await this.tokens.resolve(presented, signal);
      // Only what no provider has signed may still be somebody's key.
      if (found.ok || found.problem !== 'credential_invalid') return found;
    }
    return this.keys.resolve(presented, signal);
  }

  /** Says which keys cannot be read. */
  check(signal: AbortSignal): Promise<void> {
    return this.keys.check(signal);
  }

  async authorizationServers(): Promise<readonly string[]> {
    return (await this.tokens?.authorizationServers()) ?? [];
  }
}
