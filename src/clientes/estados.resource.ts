import { Injectable } from '@nestjs/common';
import { McpResource, type Resource } from '../mcp/decorators.js';
import { POSTGRES } from './contract.js';
import { DESCRIPTIONS, ESTADOS, TITLES } from './texts.js';

const TEXT = JSON.stringify(ESTADOS);

@McpResource({
  uri: 'data://clientes/estados',
  name: TITLES.estados,
  title: TITLES.estados,
  description: DESCRIPTIONS.estados,
  mimeType: 'application/json',
  requires: [POSTGRES],
})
@Injectable()
export class EstadosDeCliente implements Resource {
  read(): string {
    return TEXT;
  }
}
