import { describe, expect, it } from '@jest/globals';
import { Global, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { z } from 'zod';
import { AtencionCliente } from '../../../src/clientes/atencion-cliente.prompt.js';
import { CLIENTES, CLIENTES_TOOLS, ClientesModule } from '../../../src/clientes/clientes.module.js';
import { ConsultarCliente } from '../../../src/clientes/consultar-cliente.tool.js';
import { ConsultarSaldo } from '../../../src/clientes/consultar-saldo.tool.js';
import { EstadosDeCliente } from '../../../src/clientes/estados.resource.js';
import { IdentifiersSettings } from '../../../src/clientes/identifiers.settings.js';
import { ResumenCliente } from '../../../src/clientes/resumen-cliente.tool.js';
import { checkDigitOf } from '../../../src/identifiers/check-digit.js';
import { parseIdentifier } from '../../../src/identifiers/parse-identifier.js';
import {
  McpPrompt,
  McpResource,
  McpTool,
  type McpPromptOptions,
  type McpToolOptions,
} from '../../../src/mcp/decorators.js';
import { inputSchemaOf, outputSchemaOf } from '../../../src/mcp/json-schema.js';
import { lintInput, lintOutput, lintPromptInput } from '../../../src/mcp/schema-lint.js';
import { ClientesQueries } from '../../../src/sources/postgres/clientes.queries.js';
import { SaldosClient } from '../../../src/sources/saldo-api/saldos.client.js';
import { ANA, SALDO_DE_ANA, SourceDouble, answers } from './doubles.js';

const toolOptions = (tool: object) => Reflect.getMetadata(McpTool.KEY, tool) as McpToolOptions;
interface Described {
  readonly name: string;
  readonly uri?: string;
  readonly requires: readonly string[];
}

const schemaOf = (schema: z.ZodType, io: 'input' | 'output') => z.toJSONSchema(schema, { io });

describe('what this folder offers', () => {
  it('is three tools, a resource and a prompt, each with the sources it needs', () => {
    const described = CLIENTES.map((offer) => {
      const options = [McpTool, McpResource, McpPrompt]
        .map(({ KEY }) => Reflect.getMetadata(KEY, offer) as Described | undefined)
        .find((found) => found !== undefined);
      return [options?.uri ?? options?.name, ...(options?.requires ?? [])];
    });
    expect(described).toEqual([
      ['consultar_cliente', 'postgres'],
      ['consultar_saldo', 'saldo_api'],
      ['resumen_cliente', 'postgres', 'saldo_api'],
      ['data://clientes/estados', 'postgres'],
      ['atencion_cliente', 'postgres', 'saldo_api'],
    ]);
    expect(toolOptions(ResumenCliente).parts).toEqual(['consultar_cliente', 'consultar_saldo']);
  });

  it.each(CLIENTES_TOOLS.map((tool) => [toolOptions(tool).name, toolOptions(tool)] as const))(
    '%s takes one bounded text and nothing else, and only reads',
    (_name, { input, annotations, title, description }) => {
      expect(schemaOf(input, 'input')).toMatchObject({
        type: 'object',
        properties: { identificador: { type: 'string', maxLength: 20, description: expect.stringContaining('RIF') } },
        required: ['identificador'],
        additionalProperties: false,
      });
      expect(input.safeParse({ identificador: '1'.repeat(20) }).success).toBe(true);
      for (const wrong of [
        {},
        { identificador: 1 },
        { identificador: '1'.repeat(21) },
        { identificador: '1', otro: 2 },
      ]) {
        expect(input.safeParse(wrong).success).toBe(false);
      }
      expect(annotations).toEqual({ readOnlyHint: true, idempotentHint: true, openWorldHint: false });
      expect(title).not.toBe('');
      expect(description).toContain('J-16760320-2');
    },
  );

  it('describes its results field by field', () => {
    expect(schemaOf(toolOptions(ConsultarCliente).output, 'output')).toMatchObject({
      type: 'object',
      required: ['cedula', 'nombre', 'email', 'estado'],
    });
    expect(schemaOf(toolOptions(ConsultarSaldo).output, 'output')).toMatchObject({
      type: 'object',
      properties: { cedula: { type: 'string' }, saldo: { type: 'number' }, moneda: { type: 'string' } },
      required: ['cedula', 'saldo', 'moneda'],
    });
    const resumen = toolOptions(ResumenCliente).output;
    expect(schemaOf(resumen, 'output')).toMatchObject({
      type: 'object',
      required: ['identificador', 'cliente', 'saldo', 'resumen_completo'],
      properties: { cliente: { properties: { motivo: { type: ['string', 'null'] } } } },
    });
    const available = { disponible: true, datos: ANA, motivo: null };
    const missing = { disponible: false, datos: null, motivo: 'x' };
    const summary = { identificador: 'V16760320', cliente: available, saldo: missing, resumen_completo: false };
    expect(resumen.safeParse(summary).success).toBe(true);
    expect(
      resumen.safeParse({ ...summary, saldo: { ...missing, datos: { ...SALDO_DE_ANA, saldo: Infinity } } }).success,
    ).toBe(false);
  });

  it('stays within the subset of JSON Schema that all clients accept', () => {
    for (const tool of CLIENTES_TOOLS) {
      const { name, input, output } = toolOptions(tool);
      expect([name, lintInput(inputSchemaOf(input)), lintOutput(outputSchemaOf(output))]).toEqual([name, [], []]);
    }
    const { input } = Reflect.getMetadata(McpPrompt.KEY, AtencionCliente) as McpPromptOptions;
    expect(lintPromptInput(inputSchemaOf(input))).toEqual([]);
    expect(outputSchemaOf(toolOptions(ResumenCliente).output)).toMatchObject({
      properties: { cliente: { properties: { datos: { type: ['object', 'null'] } } } },
    });
  });

  it('shows only identifiers whose check digit is right', () => {
    const everything = JSON.stringify(
      CLIENTES_TOOLS.map((tool) => [toolOptions(tool).description, schemaOf(toolOptions(tool).input, 'input')]),
    );
    const examples = [...everything.matchAll(/`((?:[A-Z]-?)?[0-9][0-9.]{6,}(?:-[0-9])?)`/g)].map(([, example]) =>
      String(example),
    );
    expect(new Set(examples)).toEqual(new Set(['16760320', '16.760.320', 'V16760320', 'V-16.760.320', 'J-16760320-2']));
    for (const example of examples) {
      const { letter, number, checkDigit } = parseIdentifier(example);
      expect([null, checkDigitOf(letter, number)]).toContain(checkDigit);
    }
  });
});

describe('the module', () => {
  const sources = {
    clientes: new SourceDouble<typeof ANA>(answers(ANA)),
    saldos: new SourceDouble<typeof SALDO_DE_ANA>(answers(SALDO_DE_ANA)),
  };

  @Module({
    providers: [{ provide: ClientesQueries, useValue: sources.clientes }],
    exports: [ClientesQueries],
  })
  class PostgresDouble {}

  @Module({ providers: [{ provide: SaldosClient, useValue: sources.saldos }], exports: [SaldosClient] })
  class SaldoApiDouble {}

  @Global()
  @Module({ providers: [IdentifiersSettings], exports: [IdentifiersSettings] })
  class SettingsDouble {}

  const compile = (module: ReturnType<typeof ClientesModule.register>) =>
    Test.createTestingModule({
      imports: [SettingsDouble, module],
    }).compile();

  it('constructs everything when both sources are there', async () => {
    const app = await compile(ClientesModule.register(CLIENTES, [PostgresDouble, SaldoApiDouble]));
    for (const offer of CLIENTES) expect(app.get(offer, { strict: false })).toBeInstanceOf(offer);
    await app.close();
  });

  it('needs no source that its classes do not ask', async () => {
    const app = await compile(ClientesModule.register([ConsultarCliente, EstadosDeCliente], [PostgresDouble]));
    expect(app.get(ConsultarCliente, { strict: false })).toBeInstanceOf(ConsultarCliente);
    expect(() => app.get<unknown>(AtencionCliente, { strict: false })).toThrow();
    await app.close();
  });
});
