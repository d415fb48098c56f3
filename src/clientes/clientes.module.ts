import { Module, type DynamicModule, type ModuleMetadata, type Type } from '@nestjs/common';
import { AtencionCliente } from './atencion-cliente.prompt.js';
import { ConsultarCliente } from './consultar-cliente.tool.js';
import { ConsultarSaldo } from './consultar-saldo.tool.js';
import { EstadosDeCliente } from './estados.resource.js';
import type { Settings } from '../config/settings.js';
import { canonicalOf, IdentifierReader } from './identifier-reader.js';
import { IdentifiersSettings } from './identifiers.settings.js';
import { ResumenCliente } from './resumen-cliente.tool.js';

export const CLIENTES_TOOLS: readonly Type[] = [ConsultarCliente, ConsultarSaldo, ResumenCliente];

/** Everything of this folder that the catalogue may show; each class says in `requires` which sources it needs. */
export const CLIENTES: readonly Type[] = [...CLIENTES_TOOLS, EstadosDeCliente, AtencionCliente];

@Module({})
export class ClientesModule {
  static readonly classes = CLIENTES;
  static readonly sections = [IdentifiersSettings];

  static canonical(settings?: Settings): (text: string) => string | undefined {
    return canonicalOf(
      settings?.has(IdentifiersSettings) ? settings.get(IdentifiersSettings) : new IdentifiersSettings(),
    );
  }

  /** `classes`: those of CLIENTES whose sources are enabled. `sources`: the modules of those sources. */
  static register(classes: readonly Type[], sources: NonNullable<ModuleMetadata['imports']>): DynamicModule {
    return {
      module: ClientesModule,
      imports: sources,
      providers: [IdentifierReader, ...classes],
      exports: [...classes],
    };
  }
}
