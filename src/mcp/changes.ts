/**
 * Changes of the catalogue for `subscriptions/listen`. The product's catalogue is fixed at start, so nothing binds the
 * bus and `listChanged` is false; an application that binds one declares it, and shares it between its replicas.
 */
export type ChangeEvent =
  | { readonly kind: 'tools_list_changed' }
  | { readonly kind: 'prompts_list_changed' }
  | { readonly kind: 'resources_list_changed' }
  | { readonly kind: 'resource_updated'; readonly uri: string };

export interface ChangeBus {
  publish(event: ChangeEvent): void;
  /** Returns the function that takes the listener away. */
  subscribe(listener: (event: ChangeEvent) => void): () => void;
}

export const CHANGE_BUS = Symbol('CHANGE_BUS');
