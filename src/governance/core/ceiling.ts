/**
 * Law: every ceiling of every matching grant is enforced. "The most restrictive wins" let 10 per hour and 200 per day
 * admit 200 in one hour (spec W-14), so nothing is compared away; a rate only orders what is shown.
 */

/** At most `limit` in a fixed window that begins with the first one counted. */
export interface Ceiling {
  readonly limit: number;
  /** Milliseconds. */
  readonly windowMs: number;
  /** The window as written, for people. */
  readonly per: string;
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Eight digits keep the longest window (in days) below 2^53 milliseconds. */
export const WINDOW_PATTERN = '^[1-9][0-9]{0,7}[smhd]$';

/** `90s`, `15m`, `1h`, `7d` in milliseconds. The schema has checked the form; anything else is a RangeError. */
export function windowMs(per: string): number {
  const unit = UNIT_MS[per.slice(-1)];
  const amount = Number(per.slice(0, -1));
  if (unit === undefined || !Number.isSafeInteger(amount) || amount < 1) throw new RangeError('not a window');
  return amount * unit;
}

export const ceiling = (limit: number, per: string): Ceiling => ({ limit, per, windowMs: windowMs(per) });

/** One thing to count before a call runs. All charges of a call are consumed, or none is. */
export type Charge = CallsCharge | SubjectsCharge;

interface ChargeTerms extends Ceiling {
  /** Names the counter: principal, capability and ceiling. A changed ceiling is another counter, so windows never mix (W-15). */
  readonly key: string;
  /** The grant that brought the ceiling. */
  readonly path: string;
}

export interface CallsCharge extends ChargeTerms {
  readonly kind: 'calls';
}

/** Counts different subjects; one already counted in the window costs nothing. */
export interface SubjectsCharge extends ChargeTerms {
  readonly kind: 'subjects';
  /** Canonical subject of the call; undefined while nobody is asked for (a list). */
  readonly subject?: string;
}

/** The state of one counter. */
export interface Count {
  readonly used: number;
  /** Milliseconds since the epoch. */
  readonly windowStart: number;
  /** This very subject has been counted in the window. */
  readonly subjectCounted?: boolean;
}

/**
 * Written so that a count that is not a number exhausts the ceiling. A clock that runs backwards keeps the window open.
 */
export function exhausted(charge: Charge, count: Count | undefined, at: number): boolean {
  const open = count !== undefined && !(at - count.windowStart >= charge.windowMs);
  if (open && charge.kind === 'subjects' && count.subjectCounted === true) return !(charge.limit > 0);
  return !((open ? count.used : 0) < charge.limit);
}

/** Orders ceilings for people: lowest rate first, then the shorter window; none at all comes last (spec §2.8). */
export function byRate(one: Ceiling | undefined, other: Ceiling | undefined): number {
  if (one === undefined || other === undefined) return Number(one === undefined) - Number(other === undefined);
  return one.limit / one.windowMs - other.limit / other.windowMs || one.windowMs - other.windowMs;
}
