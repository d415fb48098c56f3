/**
 * The RIF's check digit (spec §6.2): v = 11 − ((Σ digit·weight + base of the letter) mod 11); the digit is v, or 0 when v
 * is 10 or 11. The base of `C` comes from a single source and deserves less trust than the others.
 */
const WEIGHTS = [3, 2, 7, 6, 5, 4, 3, 2] as const;
const BASES: ReadonlyMap<string, number> = new Map([
  ['V', 4],
  ['E', 8],
  ['J', 12],
  ['P', 16],
  ['G', 20],
  ['C', 12],
]);
const ZERO = 0x30;

/** `number` is exactly 8 ASCII digits. Throws an Error for any other number and for a letter without a formula. */
export function checkDigitOf(letter: string, number: string): string {
  const base = BASES.get(letter);
  if (base === undefined) throw new Error(`no hay fórmula de dígito verificador para el prefijo '${letter}'`);
  if (!/^[0-9]{8}$/.test(number)) throw new Error('numero debe ser una cadena de exactamente 8 dígitos');
  let sum = base;
  for (const [place, weight] of WEIGHTS.entries()) sum += (number.charCodeAt(place) - ZERO) * weight;
  const value = 11 - (sum % 11);
  return value < 10 ? String(value) : '0';
}
