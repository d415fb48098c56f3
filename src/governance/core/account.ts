import type { Pointer } from './pointer.js';

declare const accountBrand: unique symbol;

/** With whose credential we act. Never interchangeable with who calls (spec §1.4, invariant 5). */
export type AccountId = string & { readonly [accountBrand]: true };

export const accountId = (text: string): AccountId => text as AccountId;

/** What the decision may know of an account: no secret, not even its reference. */
export interface AccountView {
  readonly id: AccountId;
  readonly disabled: boolean;
}

/** What the registry keeps. `secretRef` is a reference that only a credential resolver understands. */
export interface AccountRecord extends AccountView {
  readonly secretRef: string;
  readonly path: Pointer;
}

export type AccountRegistry = ReadonlyMap<AccountId, AccountRecord>;
