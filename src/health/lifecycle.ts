import { Injectable } from '@nestjs/common';

export type LifecycleState = 'starting' | 'ready' | 'stopping';

/**
 * Where the process is in its life; it never goes back. `serve.ts` moves it, /ready shows it. No source has a say in it:
 * one source down must not take the whole replica out of rotation (architecture §9).
 */
@Injectable()
export class Lifecycle {
  #state: LifecycleState = 'starting';

  get state(): LifecycleState {
    return this.#state;
  }

  /** The start is over. Without effect once the process is stopping: a stop asked for during the start wins. */
  started(): void {
    if (this.#state === 'starting') this.#state = 'ready';
  }

  stopping(): void {
    this.#state = 'stopping';
  }
}
