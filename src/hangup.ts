/**
 * SIGHUP: read the policy again. Armed before the policy is read for the first time, because an unheard one ends the process;
 * one that comes too early counts as soon as somebody listens.
 */
export interface Hangup {
  listen(reload: () => void): void;
  disarm(): void;
}

export function armHangup(target: NodeJS.Process): Hangup {
  let early = false;
  let reload = (): void => {
    early = true;
  };
  const heard = (): void => reload();
  target.on('SIGHUP', heard);
  return {
    listen(listener) {
      reload = listener;
      if (early) listener();
      early = false;
    },
    disarm: () => void target.off('SIGHUP', heard),
  };
}
