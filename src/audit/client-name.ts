const RECORDABLE = /^[A-Za-z0-9 ._/-]{1,64}$/;
const SIX_DIGITS = /[0-9]{6}/;
/** Six or more digits in groups of three, which the grammar of identifiers reads too: `16.760.320`, `123-456`. */
const GROUPED_DIGITS = /(?:[0-9]{3}|[0-9]{1,2}[ ._/-][0-9]{3})[ ._/-][0-9]{3}/;

/**
 * The client's name for the record, or null. It is an outsider's text and could be an identifier: only plain names and
 * versions pass (architecture §7), and not when they hold a number that could be somebody's.
 */
export function recordableClient(client: string | undefined): string | null {
  if (client === undefined || !RECORDABLE.test(client)) return null;
  return SIX_DIGITS.test(client) || GROUPED_DIGITS.test(client) ? null : client;
}
