/**
 * A name without dots (`email`) is left out wherever it stands; a dotted path (`cliente.datos.email`) only there, counted
 * from the top, through lists. The result is a copy; what was given is not touched.
 */
export function omitFields(value: unknown, omit: readonly string[]): unknown {
  if (omit.length === 0) return value;
  return without(
    value,
    new Set(omit.filter((field) => !field.includes('.'))),
    new Set(omit.filter((field) => field.includes('.'))),
    '',
  );
}

function without(value: unknown, anywhere: ReadonlySet<string>, exact: ReadonlySet<string>, prefix: string): unknown {
  if (Array.isArray(value)) return value.map((item) => without(item, anywhere, exact, prefix));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !anywhere.has(name) && !exact.has(prefix + name))
      .map(([name, inner]) => [name, without(inner, anywhere, exact, `${prefix}${name}.`)]),
  );
}

/** Whether an output schema with these dotted fields has something that `field` leaves out. */
export const namesField = (fields: readonly string[], field: string): boolean =>
  fields.some((path) => path === field || (!field.includes('.') && path.split('.').includes(field)));
