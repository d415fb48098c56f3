/** Monotonic time and timers, injected so that the laws can be proved without waiting. */
export interface Clock {
  /** Milliseconds since an arbitrary origin; never goes back. */
  now(): number;
  /** Calls `task` once, `milliseconds` from now; the function it returns takes the appointment back. */
  after(milliseconds: number, task: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after(milliseconds, task) {
    const timer = setTimeout(task, milliseconds);
    return () => clearTimeout(timer);
  },
};
