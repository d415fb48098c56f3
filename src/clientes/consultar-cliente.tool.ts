import { Injectable } from '@nestjs/common';
import type { McpCall } from '../mcp/call.js';
import { McpTool, type Tool } from '../mcp/decorators.js';
import { CallError } from '../mcp/errors.js';
import { ClientesQueries } from '../sources/postgres/clientes.queries.js';
import { POSTGRES, clienteFields, clienteOutput, identifierInput } from './contract.js';
import type { ClienteOutput, IdentifierInput } from './contract.js';
import { IdentifierReader, subjectOf } from './identifier-reader.js';
import { answerOr } from './source-answer.js';
import { DESCRIPTIONS, ERRORS, TITLES } from './texts.js';

@McpTool({
  name: 'consultar_cliente',
  title: TITLES.consultarCliente,
  description: DESCRIPTIONS.consultarCliente,
  input: identifierInput,
  output: clienteOutput,
  requires: [POSTGRES],
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
})
@Injectable()
export class ConsultarCliente implements Tool<IdentifierInput, ClienteOutput> {
  constructor(
    private readonly identifiers: IdentifierReader,
    private readonly clientes: ClientesQueries,
  ) {}

  subject(input: unknown): string | null {
    return this.identifiers.subject(input);
  }

  async call(_input: IdentifierInput, call: McpCall): Promise<ClienteOutput> {
    const cedula = subjectOf(call);
    const cliente = await answerOr(ERRORS.clienteUnavailable, this.clientes.porCedula(cedula, call.options(POSTGRES)));
    if (cliente === null) throw new CallError('not_found', ERRORS.clienteNotFound(cedula));
    return clienteFields(cliente);
  }
}
