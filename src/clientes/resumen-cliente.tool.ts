import { Injectable } from '@nestjs/common';
import type { McpCall, SourceOptions } from '../mcp/call.js';
import { McpTool, type Tool } from '../mcp/decorators.js';
import { ClientesQueries } from '../sources/postgres/clientes.queries.js';
import { SaldosClient } from '../sources/saldo-api/saldos.client.js';
import { ConnectorError } from '../sources/source-errors.js';
import { POSTGRES, SALDO_API, clienteFields, identifierInput, resumenOutput, saldoFields } from './contract.js';
import type { IdentifierInput, ResumenOutput } from './contract.js';
import { IdentifierReader, subjectOf } from './identifier-reader.js';
import { siblings } from './siblings.js';
import { DESCRIPTIONS, REASONS, TITLES } from './texts.js';

type Part<T> =
  | { readonly disponible: true; readonly datos: T; readonly motivo: null }
  | { readonly disponible: false; readonly datos: null; readonly motivo: string };

/** How one part is asked for, in the name of the tool that answers it alone. */
interface Question<T> {
  readonly tool: string;
  readonly source: string;
  readonly find: (options: SourceOptions) => Promise<T | null>;
  readonly unavailable: string;
  readonly notFound: string;
}

/**
 * Both sources at once. Whatever can be expected of a source (down, slow, full, refusing, nothing found) makes its part
 * missing; what cannot (a bug, the caller gone) fails the whole tool: a partial result is never pretended.
 */
@McpTool({
  name: 'resumen_cliente',
  title: TITLES.resumenCliente,
  description: DESCRIPTIONS.resumenCliente,
  input: identifierInput,
  output: resumenOutput,
  requires: [POSTGRES, SALDO_API],
  parts: ['consultar_cliente', 'consultar_saldo'],
  partData: { consultar_cliente: 'cliente.datos', consultar_saldo: 'saldo.datos' },
  outcome: ({ resumen_completo }: ResumenOutput) => (resumen_completo ? 'success' : 'partial'),
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
})
@Injectable()
export class ResumenCliente implements Tool<IdentifierInput, ResumenOutput> {
  constructor(
    private readonly identifiers: IdentifierReader,
    private readonly clientes: ClientesQueries,
    private readonly saldos: SaldosClient,
  ) {}

  subject(input: unknown): string | null {
    return this.identifiers.subject(input);
  }

  async call(_input: IdentifierInput, call: McpCall): Promise<ResumenOutput> {
    const identificador = subjectOf(call);
    const [cliente, saldo] = await siblings(
      call.signal,
      (signal) =>
        part(call, signal, {
          tool: 'consultar_cliente',
          source: POSTGRES,
          find: async (options) => {
            const found = await this.clientes.porCedula(identificador, options);
            return found && clienteFields(found);
          },
          unavailable: REASONS.clienteUnavailable,
          notFound: REASONS.clienteNotFound,
        }),
      (signal) =>
        part(call, signal, {
          tool: 'consultar_saldo',
          source: SALDO_API,
          find: async (options) => {
            const found = await this.saldos.porCedula(identificador, options);
            return found && saldoFields(found);
          },
          unavailable: REASONS.saldoUnavailable,
          notFound: REASONS.saldoNotFound,
        }),
    );
    return { identificador, cliente, saldo, resumen_completo: cliente.disponible && saldo.disponible };
  }
}

async function part<T>(call: McpCall, signal: AbortSignal, question: Question<T>): Promise<Part<T>> {
  const { tool, source, find, unavailable, notFound } = question;
  const grant = call.part(tool);
  if (grant.failed !== undefined) {
    call.journal.part(tool, grant.failed);
    return missing(unavailable);
  }
  if (!grant.allowed) {
    // Governance knows why and may have said so already; its code says more than ours.
    if (call.journal.parts[tool] === undefined) call.journal.part(tool, 'denied');
    return missing(REASONS.notAuthorized);
  }
  try {
    const datos = await find(call.options(source, tool, signal));
    call.journal.part(tool, datos === null ? 'not_found' : 'success');
    return datos === null ? missing(notFound) : { disponible: true, datos, motivo: null };
  } catch (error) {
    if (error instanceof ConnectorError && !signal.aborted) {
      call.journal.part(tool, error.code);
      return missing(unavailable);
    }
    call.journal.part(tool, signal.aborted ? 'cancelled' : 'internal_error');
    // A source that answers an abort with an error of its own must not hide that the caller left.
    call.signal.throwIfAborted();
    throw error;
  }
}

function missing(motivo: string): Part<never> {
  return { disponible: false, datos: null, motivo };
}
