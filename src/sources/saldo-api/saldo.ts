import { z } from 'zod';
import { MalformedBodyError } from '../../connectors/http/http-errors.js';

/**
 * A balance as the API is agreed to send it (spec §5.4). The number in the payload is the contract; it must be finite.
 * Whatever else the body holds is dropped: it would be a stranger's text in front of a model (spec §11: F1).
 */
export const saldoSchema = z.object({
  cedula: z.string().max(20),
  saldo: z.number(),
  moneda: z.string().regex(/^[A-Z]{3}$/),
});

export type Saldo = z.infer<typeof saldoSchema>;

/** The balance in a body, if it is one and is `cedula`'s. Throws MalformedBodyError, which quotes nothing. */
export function saldoOf(body: unknown, cedula: string): Saldo {
  const parsed = saldoSchema.safeParse(body);
  if (!parsed.success) throw new MalformedBodyError('SCHEMA');
  if (parsed.data.cedula !== cedula) throw new MalformedBodyError('FOREIGN_SUBJECT');
  return parsed.data;
}
