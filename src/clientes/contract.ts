import { z } from 'zod';
import { DESCRIPTIONS, FIELDS } from './texts.js';

/** Names of the sources as `requires` and the executors know them. */
export const POSTGRES = 'postgres';
export const SALDO_API = 'saldo_api';

/** UTF-16 units. Long enough for `RIF: J-16.760.320-2`, short enough not to be anything else (spec §5.2). */
export const IDENTIFIER_MAX_LENGTH = 20;

export const identifierText = z.string().max(IDENTIFIER_MAX_LENGTH);

export const identifierInput = z.strictObject({ identificador: identifierText.describe(DESCRIPTIONS.identifier) });
export type IdentifierInput = z.infer<typeof identifierInput>;

/** What leaves this folder, whatever a source's row or body holds besides (defect F1). The order of keys is the contract. */
export const clienteOutput = z.strictObject({
  cedula: z.string().describe(FIELDS.cedula),
  nombre: z.string().describe(FIELDS.nombre),
  email: z.string().describe(FIELDS.email),
  estado: z.string().describe(FIELDS.estado),
});
export type ClienteOutput = z.infer<typeof clienteOutput>;

export const saldoOutput = z.strictObject({
  cedula: z.string().describe(FIELDS.cedula),
  saldo: z.number().describe(FIELDS.saldo),
  moneda: z.string().describe(FIELDS.moneda),
});
export type SaldoOutput = z.infer<typeof saldoOutput>;

export const resumenOutput = z.strictObject({
  identificador: z.string().describe(FIELDS.cedula),
  cliente: partOutput(clienteOutput).describe(FIELDS.cliente),
  saldo: partOutput(saldoOutput).describe(FIELDS.saldoPart),
  resumen_completo: z.boolean().describe(FIELDS.resumenCompleto),
});
export type ResumenOutput = z.infer<typeof resumenOutput>;

/** A union by `disponible` in fact, but the big clients' subset of JSON Schema has no unions beside null. */
function partOutput<T extends z.ZodObject>(data: T) {
  return z.strictObject({
    disponible: z.boolean().describe(FIELDS.disponible),
    datos: data.nullable().describe(FIELDS.datos),
    motivo: z.string().nullable().describe(FIELDS.motivo),
  });
}

/** Field by field: nothing that a source adds one day reaches a model by itself. */
export function clienteFields({ cedula, nombre, email, estado }: ClienteOutput): ClienteOutput {
  return { cedula, nombre, email, estado };
}

export function saldoFields({ cedula, saldo, moneda }: SaldoOutput): SaldoOutput {
  return { cedula, saldo, moneda };
}
