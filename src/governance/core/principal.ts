import type { IssuerKind } from './document.js';
import type { Pointer } from './pointer.js';

declare const principalBrand: unique symbol;

/** Who calls: `<issuer>:<subject>`. */
export type PrincipalId = string & { readonly [principalBrand]: true };

/** Why a caller could not be recognised (spec §3.3). */
export const PRINCIPAL_PROBLEMS = [
  'credential_missing',
  'credential_invalid',
  'credential_expired',
  'issuer_unknown',
  'scope_insufficient',
] as const;
export type PrincipalProblem = (typeof PRINCIPAL_PROBLEMS)[number];

/** A declared way of recognising callers. */
export interface Issuer {
  readonly id: string;
  readonly kind: IssuerKind;
  /** By name, the source of each attribute: `claim:…` (oidc), `dn:…` (mtls), the value itself (static-key). */
  readonly attributes: ReadonlyMap<string, string>;
  readonly subject?: string;
  readonly secretRef?: string;
  readonly discovery?: string;
  readonly audience?: string;
  /** What a token must be good for before anybody is recognised by it (oidc). */
  readonly scopes?: readonly string[];
  readonly path: Pointer;
}

/** Never holds a credential, a hash or a fingerprint of one. */
export interface Principal {
  readonly id: PrincipalId;
  readonly issuer: string;
  readonly subject: string;
  readonly attributes: ReadonlyMap<string, string>;
  /** Those attributes that are identifiers of people or companies, in canonical form: what a subject is compared with. */
  readonly identifiers: ReadonlyMap<string, string>;
}

/** What a resolver found behind a valid credential, not yet cut down to what the issuer declares. */
export interface ResolvedPrincipal {
  readonly issuer: string;
  readonly subject: string;
  readonly attributes: Readonly<Record<string, string>>;
}

export type Resolution =
  | { readonly ok: true; readonly principal: Principal; readonly discarded: readonly string[] }
  | { readonly ok: false; readonly problem: PrincipalProblem };

/** Canonical form of an identifier, or undefined when the text is not one. Pure; never throws. */
export type Canonical = (text: string) => string | undefined;

/**
 * Only attributes that the issuer declares survive; the others are listed, so that a dry run can show them. A blank
 * subject is nobody: there is no anonymous principal.
 */
export function normalisePrincipal(
  issuer: Issuer | undefined,
  resolved: ResolvedPrincipal,
  canonical: Canonical,
): Resolution {
  if (issuer === undefined || issuer.id !== resolved.issuer) return { ok: false, problem: 'issuer_unknown' };
  if (resolved.subject.trim() === '') return { ok: false, problem: 'credential_missing' };
  const attributes = new Map<string, string>();
  const identifiers = new Map<string, string>();
  const discarded: string[] = [];
  for (const [name, value] of Object.entries(resolved.attributes)) {
    if (!issuer.attributes.has(name) || typeof value !== 'string' || value === '') {
      discarded.push(name);
      continue;
    }
    attributes.set(name, value);
    const identifier = canonical(value);
    if (identifier !== undefined) identifiers.set(name, identifier);
  }
  return {
    ok: true,
    principal: {
      id: `${issuer.id}:${resolved.subject}` as PrincipalId,
      issuer: issuer.id,
      subject: resolved.subject,
      attributes,
      identifiers,
    },
    discarded,
  };
}
