import type { Pointer } from './pointer.js';

/** The stable term that policy is written in; the only thing a grant may name. */
export interface Capability {
  readonly id: string;
  readonly description?: string;
  readonly path: Pointer;
}
