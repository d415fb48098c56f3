import type { Level } from './event-log.js';

/** Python's numbers, because the level's names on the lines are Python's (spec §8.1). */
const SEVERITY: Readonly<Record<Level, number>> = { DEBUG: 10, INFO: 20, WARNING: 30, ERROR: 40, CRITICAL: 50 };

const ALIASES: Readonly<Record<string, Level>> = { WARN: 'WARNING', FATAL: 'CRITICAL', NOTSET: 'DEBUG' };

export const severity = (level: Level): number => SEVERITY[level];

/** The level behind a Python name or alias. Throws on any other: settings have refused those before. */
export function levelOf(name: string): Level {
  const level = ALIASES[name] ?? name;
  if (!Object.hasOwn(SEVERITY, level)) throw new TypeError('not the name of a log level');
  return level as Level;
}
