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
    // The process may have been held up since the caller subtracted; Node complains about the past.
    const timer = setTimeout(task, Math.max(0, milliseconds));
    return () => clearTimeout(timer);
  },
};
