import { z } from 'zod';

/** Characters; no real name or address is longer, and a model reads all of it. */
const MAX_TEXT = 320;

/**
 * Text that a database may hold and a model may read. Control and invisible formatting characters are refused, not removed:
 * they have no place in these columns, and hide instructions or reorder what a person sees (Unicode TR 36).
 */
const plainText = z
  .string()
  .max(MAX_TEXT)
  .regex(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]*$/u);

/** One row of `clientes` (spec §4.1). */
export const clienteSchema = z.object({
  cedula: plainText.max(20),
  nombre: plainText,
  email: plainText,
  estado: plainText.max(64),
});

export type Cliente = z.infer<typeof clienteSchema>;
