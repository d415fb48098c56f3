/**
 * SIGTERM and SIGINT, armed before anything else is loaded: a signal that comes while the process starts must end it
 * in order too. The first signal asks for an orderly stop, a second one ends the process at once.
 */
export interface StopSignal {
  /** Resolves with the first signal. */
  readonly requested: Promise<NodeJS.Signals>;
  readonly isRequested: boolean;
}

/** npm passes a Ctrl-C on that the terminal has already delivered: both arrive within a moment and are one key press. */
const SAME_KEY_PRESS_MS = 250;

/** Exit code of a process that a signal ended, as shells count it. */
const EXIT_BY_SIGNAL = { SIGINT: 130, SIGTERM: 143 } as const;

export function armStopSignal(target: NodeJS.Process): StopSignal {
  let first: { signal: NodeJS.Signals; at: number } | undefined;
  let resolve: (signal: NodeJS.Signals) => void;
  const requested = new Promise<NodeJS.Signals>((done) => {
    resolve = done;
  });
  const onSignal = (signal: 'SIGINT' | 'SIGTERM') => {
    if (first === undefined) {
      first = { signal, at: performance.now() };
      resolve(signal);
      return;
    }
    if (signal === 'SIGINT' && first.signal === 'SIGINT' && performance.now() - first.at < SAME_KEY_PRESS_MS) return;
    target.exit(EXIT_BY_SIGNAL[signal]);
  };
  target.on('SIGTERM', () => onSignal('SIGTERM'));
  target.on('SIGINT', () => onSignal('SIGINT'));
  return {
    requested,
    get isRequested() {
      return first !== undefined;
    },
  };
}
