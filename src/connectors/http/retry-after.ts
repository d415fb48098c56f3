/** RFC 9110 §10.2.3: whole seconds, or a date in one of the three forms of §5.6.7. */
const SECONDS = /^\d{1,9}$/;
const IMF_FIXDATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const RFC_850 = /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/;
const ASCTIME = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

/**
 * Seconds that a `Retry-After` header asks to wait, never negative; `undefined` when there is none or it is not well
 * formed. `now` is wall-clock time in milliseconds, because a date is compared with it.
 */
export function retryAfterSeconds(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  if (SECONDS.test(text)) return Number(text);
  const instant = dateOf(text);
  return Number.isNaN(instant) ? undefined : Math.max(0, (instant - now) / 1000);
}

function dateOf(text: string): number {
  if (IMF_FIXDATE.test(text) || RFC_850.test(text)) return Date.parse(text);
  // asctime names no zone and means UTC; Date.parse would take the machine's.
  if (ASCTIME.test(text)) return Date.parse(`${text} GMT`);
  return Number.NaN;
}
