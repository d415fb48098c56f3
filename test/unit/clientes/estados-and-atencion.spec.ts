import { describe, expect, it } from '@jest/globals';
import { AtencionCliente } from '../../../src/clientes/atencion-cliente.prompt.js';
import { EstadosDeCliente } from '../../../src/clientes/estados.resource.js';
import { McpPrompt, McpResource, type McpPromptOptions, type McpResourceOptions } from '../../../src/mcp/decorators.js';
import { reader } from './doubles.js';

describe('data://clientes/estados', () => {
  it('is the dictionary of states as JSON, with its accents', () => {
    expect(new EstadosDeCliente().read()).toBe(
      '{"activo":"El cliente está al día; puede operar sin restricciones.",' +
        '"moroso":"El cliente tiene obligaciones vencidas; algunas operaciones pueden estar restringidas.",' +
        '"inactivo":"El cliente no tiene actividad reciente; puede requerir reactivación antes de operar."}',
    );
  });

  it('carries its name and type', () => {
    expect(Reflect.getMetadata(McpResource.KEY, EstadosDeCliente) as McpResourceOptions).toMatchObject({
      uri: 'data://clientes/estados',
      name: 'Catálogo de estados de cliente',
      mimeType: 'application/json',
    });
  });
});

describe('atencion_cliente', () => {
  const prompt = new AtencionCliente(reader());
  const { input } = Reflect.getMetadata(McpPrompt.KEY, AtencionCliente) as McpPromptOptions;

  it.each(['identificador', 'cedula'])('opens with what was given as %s, as given', (name) => {
    const text = prompt.render({ [name]: 'v-16.760.320' });
    expect(text.split('\n')[0]).toContain('v-16.760.320');
    expect(text.match(/^\d\. /gm)).toEqual(['1. ', '2. ', '3. ', '4. ']);
  });

  it('tells the flow in its order', () => {
    const steps = prompt.render({ identificador: 'X' }).split('\n').slice(2);
    expect(steps[0]).toContain('`resumen_cliente`');
    expect(steps[1]).toMatch(/`cliente\.disponible`.*`saldo\.disponible`.*`motivo`/);
    expect(steps[2]).toMatch(/`consultar_cliente`.*`consultar_saldo`/);
    expect(steps[3]).toContain('`data://clientes/estados`');
  });

  it('does not judge the identifier, and then has no subject', () => {
    expect(prompt.render({ identificador: 'no es nada' })).toContain('no es nada');
    expect(prompt.subject({ identificador: 'no es nada' })).toBeNull();
    expect(prompt.subject({ identificador: 'V-16760320-9' })).toBeNull();
    expect(prompt.subject({})).toBeNull();
    expect(prompt.subject(undefined)).toBeNull();
  });

  it.each(['identificador', 'cedula'])('has the canonical form of %s as its subject', (name) => {
    expect(prompt.subject({ [name]: 'v-16.760.320' })).toBe('V16760320');
  });

  it('takes exactly one of the two names', () => {
    const accepted = (args: unknown) => input.safeParse(args).success;
    expect(accepted({ identificador: 'V1' })).toBe(true);
    expect(accepted({ cedula: 'V1' })).toBe(true);
    expect(accepted({ identificador: 'V1', cedula: 'V1' })).toBe(false);
    expect(accepted({})).toBe(false);
    expect(accepted({ cedula: 'V1', otro: 'x' })).toBe(false);
    expect(accepted({ cedula: '1'.repeat(21) })).toBe(false);
  });

  it('takes a field that a form left empty as not given', () => {
    const args = { identificador: '', cedula: 'V16760320' };
    expect(input.safeParse(args).success).toBe(true);
    expect(prompt.render(args)).toContain('V16760320');
    expect(prompt.subject(args)).toBe('V16760320');
    expect(input.safeParse({ identificador: '', cedula: '' }).success).toBe(false);
  });
});
