import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { McpPrompt, type Prompt } from '../mcp/decorators.js';
import { CallError } from '../mcp/errors.js';
import { POSTGRES, SALDO_API, identifierText } from './contract.js';
import { IdentifierReader } from './identifier-reader.js';
import { DESCRIPTIONS, TITLES, atencionCliente } from './texts.js';

const input = z
  .strictObject({
    identificador: identifierText.optional().describe(DESCRIPTIONS.identifier),
    cedula: identifierText.optional().describe(DESCRIPTIONS.cedulaArgument),
  })
  .refine((names) => [names.identificador, names.cedula].filter(given).length === 1);
type Input = z.infer<typeof input>;

@McpPrompt({
  name: 'atencion_cliente',
  title: TITLES.atencionCliente,
  description: DESCRIPTIONS.atencionCliente,
  input,
  requires: [POSTGRES, SALDO_API],
})
@Injectable()
export class AtencionCliente implements Prompt<Input> {
  constructor(private readonly identifiers: IdentifierReader) {}

  subject(args: unknown): string | null {
    return this.subjectIn(args, 'identificador') ?? this.subjectIn(args, 'cedula');
  }

  render({ identificador, cedula }: Input): string {
    return atencionCliente(given(identificador) ? identificador : (cedula ?? ''));
  }

  /** Null also for a text that is no identifier: the prompt passes it on as given, the tool it names will judge it. */
  private subjectIn(args: unknown, name: string): string | null {
    try {
      return this.identifiers.subject(args, name);
    } catch (error) {
      if (error instanceof CallError) return null;
      throw error;
    }
  }
}

/** Clients with a form send a field that was left empty as an empty text. */
function given(text: string | undefined): text is string {
  return text !== undefined && text !== '';
}
