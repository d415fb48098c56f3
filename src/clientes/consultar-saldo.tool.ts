import { Injectable } from '@nestjs/common';
import type { McpCall } from '../mcp/call.js';
import { McpTool, type Tool } from '../mcp/decorators.js';
import { CallError } from '../mcp/errors.js';
import { SaldosClient } from '../sources/saldo-api/saldos.client.js';
import { SALDO_API, identifierInput, saldoFields, saldoOutput } from './contract.js';
import type { IdentifierInput, SaldoOutput } from './contract.js';
import { IdentifierReader, subjectOf } from './identifier-reader.js';
import { answerOr } from './source-answer.js';
import { DESCRIPTIONS, ERRORS, TITLES } from './texts.js';

@McpTool({
  name: 'consultar_saldo',
  title: TITLES.consultarSaldo,
  description: DESCRIPTIONS.consultarSaldo,
  input: identifierInput,
  output: saldoOutput,
  requires: [SALDO_API],
  // The balance API is a system of the same house that knows a closed set of customers: no open world.
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
})
@Injectable()
export class ConsultarSaldo implements Tool<IdentifierInput, SaldoOutput> {
  constructor(
    private readonly identifiers: IdentifierReader,
    private readonly saldos: SaldosClient,
  ) {}

  subject(input: unknown): string | null {
    return this.identifiers.subject(input);
  }

  async call(_input: IdentifierInput, call: McpCall): Promise<SaldoOutput> {
    const cedula = subjectOf(call);
    const saldo = await answerOr(ERRORS.saldoUnavailable, this.saldos.porCedula(cedula, call.options(SALDO_API)));
    if (saldo === null) throw new CallError('not_found', ERRORS.saldoNotFound(cedula));
    return saldoFields(saldo);
  }
}
