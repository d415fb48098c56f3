import { type SecretChange } from '../config/rotating-secret.js';
import { type EventLog } from '../logging/event-log.js';

/** Tells in the log what became of a secret that is a file: `source_secret_rotated`, `…_unreadable`, `…_unusable`. */
export function secretTold(source: string, log: EventLog): (change: SecretChange, variable: string) => void {
  return (change, variable) => {
    const tell = change === 'rotated' ? log.info : log.warning;
    tell(`source_secret_${change}`, { source, variable });
  };
}
