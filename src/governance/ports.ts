/**
 * What the shell must supply around the pure core. Input ports gather facts before a decision and are not asked again;
 * output ports execute what was decided and never influence it. The instant is not a port but a function.
 */
import type { ForwardedCertificate } from '../mcp/call.js';
import type { AccountId, Charge, Consumption, PrincipalProblem, ResolvedPrincipal } from './core/index.js';

/** Milliseconds since the epoch. */
export type Now = () => number;
export const NOW = Symbol('NOW');

export type Recognition =
  | { readonly ok: true; readonly principal: ResolvedPrincipal }
  | { readonly ok: false; readonly problem: PrincipalProblem };

/**
 * Who is calling. `presented` is the credential as it came, empty when there was none; it is an argument and is kept
 * nowhere. Never answers a principal whose credential was not validated, and never throws for a bad one.
 * `certificate`: what a proxy says about the client's, where the configuration names one.
 */
export interface PrincipalResolver {
  resolve(presented: string, signal: AbortSignal, certificate?: ForwardedCertificate): Promise<Recognition>;
  /** The issuer identifiers of the providers that give tokens; absent = there are none. */
  authorizationServers?(): Promise<readonly string[]>;
}
export const PRINCIPAL_RESOLVER = Symbol('PRINCIPAL_RESOLVER');

/**
 * Counts. `tryConsume` is one atomic step: all charges, or none. A window is fixed and opens with the first thing counted
 * in it; a subject that its window has already counted takes no room and always fits, unless the limit is 0.
 * `exhausted` names the first charge without room, in the order given. Throwing (or being aborted) means "not known",
 * which under a ceiling denies. `charge.subject` names a person: whoever calls the port hands over a pseudonym.
 */
export interface UsageStore {
  tryConsume(
    charges: readonly Charge[],
    at: number,
    signal: AbortSignal,
  ): Promise<Exclude<Consumption, { kind: 'unknown' }>>;
}
export const USAGE_STORE = Symbol('USAGE_STORE');

/** What an account is used with. `epoch` changes when the secret does and tells nothing about it; pools are keyed by (account, epoch). */
export interface AccountCredential {
  readonly account: AccountId;
  readonly epoch: string;
  readonly secret: string;
}

/**
 * Reads the secret behind a reference, after an allow and after `consume`, for that one account. Every failure ends the
 * call; no error text holds the secret or its reference.
 */
export interface CredentialResolver {
  resolve(account: AccountId, secretRef: string, signal: AbortSignal): Promise<AccountCredential>;
}
export const CREDENTIAL_RESOLVER = Symbol('CREDENTIAL_RESOLVER');
